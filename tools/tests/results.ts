/** What a tier's run left behind: vitest's JSON report, read for the summary, for what failed, and for what is left to another tier. */
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Duration } from './durations.ts';

export interface Results {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly FileResult[];
}

/** A file that could not even be loaded has a message and no failed test. */
export interface FileResult {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly startTime?: number;
  readonly endTime?: number;
  readonly assertionResults: readonly TestResult[];
}

interface TestResult {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages: readonly string[];
}

const isSkipped = ({ status }: TestResult): boolean => status !== 'passed' && status !== 'failed';

/** By file, below `root`: the full names of the tests that did not run, of those that were asked for. */
export function skippedTests(
  { testResults }: Results,
  root: string,
  asked?: Readonly<Record<string, readonly string[]>>,
): Record<string, string[]> {
  const all = testResults.map(({ name, assertionResults }): [string, string[]] => {
    const file = relative(root, name);
    const names = assertionResults.filter(isSkipped).map(({ fullName }) => fullName);
    return [file, names.filter((one) => asked?.[file]?.includes(one) ?? true)];
  });
  return Object.fromEntries(all.filter(([, names]) => names.length > 0));
}

export const countOf = (tests: Readonly<Record<string, readonly string[]>>): number =>
  Object.values(tests).reduce((sum, names) => sum + names.length, 0);

/** Of each failure its place, and as much of its message as says what was found instead. */
export function failuresOf({ name: path, status, message, assertionResults }: FileResult, root: string): string[] {
  const file = relative(root, path);
  const tests = assertionResults.filter((test) => test.status === 'failed');
  if (tests.length > 0) {
    return tests.map(
      ({ fullName, failureMessages }) => `${file}: ${fullName}\n${beginning(failureMessages.join('\n'))}`,
    );
  }
  return status === 'failed' ? [`${file}\n${beginning(message)}`] : [];
}

function beginning(message: string): string {
  return stripVTControlCharacters(message)
    .split('\n')
    .slice(0, 12)
    .map((line) => `    ${line}`)
    .join('\n');
}

/** One line each. */
export function slowest(durations: readonly Duration[], root: string, count = 10): string[] {
  return durations
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, count)
    .map(({ file, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${relative(root, file)}`);
}
