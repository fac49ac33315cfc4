/** A reporter of vitest that notes how long each file took, with its hooks: vitest's JSON report counts the tests only. Where to is in PODLOOM_DURATIONS. */
import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

export interface Duration {
  readonly file: string;
  readonly ms: number;
}

export default class Durations implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const path = process.env['PODLOOM_DURATIONS'];
    if (!path) return;
    const durations = modules.map((one): Duration => ({ file: one.moduleId, ms: one.diagnostic().duration }));
    writeFileSync(path, JSON.stringify(durations));
  }
}
