/** A plan as a diff: + what comes, - what goes, ~ what changes (with what was there), in the order of the steps. */
import type { Step } from '../plan/step.ts';
import { describeSettings, describeStep } from './step.ts';

function signOf(step: Step): '+' | '-' | '~' {
  switch (step.do) {
    case 'createBridge':
    case 'createVeth':
    case 'addFdb':
    case 'addAddress':
    case 'addRoute':
    case 'addRule':
      return '+';
    case 'removeFdb':
    case 'removeAddress':
    case 'removeRoute':
    case 'removeRule':
    case 'deleteLink':
      return '-';
    case 'setLink':
    case 'setMaster':
    case 'setPortFlags':
    case 'setPortFilter':
    case 'setSysctl':
    default:
      return '~';
  }
}

function formerly(step: Step): string {
  const was =
    step.do === 'setLink' && step.was ? describeSettings(step.was) : step.do === 'setSysctl' ? step.was : undefined;
  return was ? `  (was ${was})` : '';
}

/** Grouped by place while the place stays the same. An empty plan says so. */
export function describePlan(steps: readonly Step[], names: { readonly node: string; readonly pod: string }): string {
  if (steps.length === 0) return 'Nothing to do: all is as declared.\n';
  const lines = steps.flatMap((step, i) => {
    const line = `${signOf(step)} ${describeStep(step)}${formerly(step)}`;
    return steps[i - 1]?.in === step.in
      ? [line]
      : [`@@ ${step.in === 'node' ? `node ${names.node}` : `pod ${names.pod}`} @@`, line];
  });
  return `${lines.join('\n')}\n`;
}
