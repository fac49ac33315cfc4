import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { keepAwake } from './awake.ts';

function machine(driver: string, firstState: string) {
  const folder = mkdtempSync(join(tmpdir(), 'podloom-awake-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const path of ['cpuidle', 'cpu0/cpuidle/state0']) mkdirSync(join(folder, path), { recursive: true });
  writeFileSync(join(folder, 'cpuidle/current_driver'), `${driver}\n`);
  writeFileSync(join(folder, 'cpu0/cpuidle/state0/name'), `${firstState}\n`);
  writeFileSync(join(folder, 'wish'), '');
  return { wish: join(folder, 'wish'), processors: folder };
}

it('keeps processors awake where the kernel has the choice', () => {
  const { wish, processors } = machine('haltpoll', 'POLL');
  using awake = keepAwake(wish, processors);
  expect(awake.note).toMatch(/^Processors are kept awake/);
  expect(readFileSync(wish)).toEqual(Buffer.alloc(4));
});

it.each([
  ['no driver', 'none', 'POLL', 'cpuidle has driver none and begins with POLL'],
  ['no state that polls', 'psci_idle', 'WFI', 'cpuidle has driver psci_idle and begins with WFI'],
])('says that they halt where the kernel takes the wish and has %s', (_, driver, state, why) => {
  const { wish, processors } = machine(driver, state);
  using awake = keepAwake(wish, processors);
  expect(awake.note).toBe(`Processors halt when idle (${why}): latencies are also those of waking them.`);
});

it('says that they halt where nobody can be asked', () => {
  const { wish } = machine('haltpoll', 'POLL');
  using awake = keepAwake(wish, '/nowhere');
  expect(awake.note).toContain('ENOENT');
});
