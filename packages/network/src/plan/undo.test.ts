import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyChange, anyForeign, desire, seen, wish } from '../testing/builders.ts';
import { fingerprint } from '../testing/fingerprint.ts';
import type { Observed } from './observed.ts';
import { planPod } from './pod.ts';
import { planLooks } from '../explain/looks.ts';
import { simulate } from '../explain/simulate.ts';
import { type Owner, type Step, interfaceOf, interfaceOwner } from './step.ts';
import { undoOf } from './undo.ts';

/** As applySteps does it when this step fails: its interface is taken back, the others go on. */
function stopAt(at: number, steps: readonly Step[], world: Observed): Observed {
  const isMine = ({ owner }: Step): boolean => owner === steps[at]?.owner;
  const done = steps.slice(0, at);
  const undo = done.filter(isMine).toReversed().flatMap(undoOf);
  return simulate([...done, ...undo, ...steps.slice(at).filter((step) => !isMine(step))], world);
}

/** Lowering the MTU of a bridge comes after all that may be refused. */
const isLast = (step: Step | undefined): boolean =>
  step?.do === 'setLink' && step.in === 'node' && step.link.startsWith('pcbr');

const without = (owner: Owner, steps: readonly Step[]): Step[] => steps.filter((step) => step.owner !== owner);

describe('undoOf', () => {
  it('leaves a working link exactly as it was, wherever a change of it stops, and the others as they are to be', () => {
    fc.assert(
      fc.property(anyChange, anyForeign, fc.nat(), fc.boolean(), ([first, second], before, cut, isSecondLook) => {
        const had = planLooks(desire(first, before), before).after;
        const running = isSecondLook ? simulate(planPod(desire(second, had), had).steps, had) : had;
        const { steps } = planPod(desire(second, running), running);
        const at = cut % Math.max(1, steps.length);
        const owner = steps[at]?.owner;
        fc.pre(owner !== undefined && interfaceOf(owner) !== undefined && !isLast(steps[at]));
        const rest = simulate(without(owner, steps), running);
        expect(fingerprint(stopAt(at, steps, running))).toBe(fingerprint(rest));
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['its address', wish({ addresses: ['192.168.100.7/24'] })],
    ['the first of two addresses', wish({ addresses: ['192.168.100.3/24'] })],
    ['its addresses and MAC', wish({ addresses: [], macAddress: '02:00:00:00:00:09' })],
    ['its bridge', wish({ bridge: { name: 'pcbr1', device: 'pcbr1', gateways: [], home: 'node' } })],
  ])('gives a link back %s, with flags, entry and routes', (_, change) => {
    const before = seen();
    const routes = [{ to: '0.0.0.0/0', via: '10.9.0.1', metric: 7 }, { to: '10.9.0.0/16' }];
    const working = wish({ addresses: ['192.168.100.2/24', '192.168.100.3/24'], routes });
    const running = simulate(planPod(desire([working], before), before).steps, before);
    const { steps } = planPod(desire([change], running), running);
    expect(steps.at(-1)?.do).toBe('setPortFilter');
    const rest = simulate(without(interfaceOwner(change.key), steps), running);
    expect(fingerprint(stopAt(steps.length - 1, steps, running))).toBe(fingerprint(rest));
  });

  it('takes a new attachment back from wherever it stopped, leaving what was there', () => {
    const before = seen();
    const { steps } = planPod(desire([wish({ routes: [{ to: '10.9.0.0/16' }] })], before), before);
    for (let done = 0; done <= steps.length; done += 1) {
      const half = simulate(steps.slice(0, done), before);
      const undo = steps.slice(0, done).toReversed().flatMap(undoOf);
      expect(fingerprint(simulate(undo, half))).toBe(fingerprint(before));
    }
  });

  it('gives a changed link its old settings back', () => {
    const step = {
      do: 'setLink',
      in: 'pod',
      owner: 'primary',
      link: 'a',
      set: { name: 'b', mtuBytes: 9000 },
      was: { name: 'a', mtuBytes: 1500 },
    } as const;
    expect(undoOf(step)).toMatchObject([{ link: 'b', set: { name: 'a', mtuBytes: 1500 } }]);
  });
});
