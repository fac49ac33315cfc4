import { describe, expect, it } from 'vitest';
import { desire, seen, wish } from './builders.ts';
import { fingerprint } from './fingerprint.ts';
import { planPod } from './pod.ts';
import { simulate } from './simulate.ts';
import { undoOf } from './undo.ts';

describe('undoOf', () => {
  it('takes a new attachment back from wherever it stopped, leaving what was there', () => {
    const before = seen();
    const { steps } = planPod(desire([wish({ routes: [{ to: '10.9.0.0/16' }] })], before), before);
    for (let done = 0; done <= steps.length; done += 1) {
      const half = simulate(steps.slice(0, done), before);
      const undo = steps
        .slice(0, done)
        .toReversed()
        .flatMap((step) => undoOf(step) ?? []);
      expect(fingerprint(simulate(undo, half))).toBe(fingerprint(before));
    }
  });

  it('gives a changed link its old settings back', () => {
    const step = {
      do: 'setLink',
      in: 'pod',
      link: 'a',
      set: { name: 'b', mtuBytes: 9000 },
      was: { name: 'a', mtuBytes: 1500 },
    } as const;
    expect(undoOf(step)).toMatchObject({ link: 'b', set: { name: 'a', mtuBytes: 1500 } });
  });
});
