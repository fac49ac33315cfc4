/** A plan as a diff: + what comes, - what goes, ~ what changes (with what was there), in the order of the steps. */
import type { Place } from '../plan/observed.ts';
import type { Step } from '../plan/step.ts';
import { describeSettings, describeStep } from './step.ts';

const signOf = ({ do: verb }: Step): '+' | '-' | '~' =>
  /^(create|add)/.test(verb) ? '+' : /^(delete|remove)/.test(verb) ? '-' : '~';

function formerly(step: Step): string {
  const was =
    step.do === 'setLink' && step.was ? describeSettings(step.was) : step.do === 'setSysctl' ? step.was : undefined;
  return was ? `  (was ${was})` : '';
}

/** Grouped by place while the place stays the same; `names` says which node and pod are meant. An empty plan says so. */
export function describePlan(steps: readonly Step[], names: Readonly<Partial<Record<Place, string>>>): string {
  if (steps.length === 0) return 'Nothing to do: all is as declared.\n';
  const lines = steps.flatMap((step, i) => {
    const line = `${signOf(step)} ${describeStep(step)}${formerly(step)}`;
    const place = [step.in, names[step.in]].filter(Boolean).join(' ');
    return steps[i - 1]?.in === step.in ? [line] : [`@@ ${place} @@`, line];
  });
  return `${lines.join('\n')}\n`;
}
