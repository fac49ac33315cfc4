/** The part of vitest's JSON report that tells whether the tier passed, for a run that has no report of its own to show. */
export interface TestResults {
  readonly success: boolean;
  readonly numTotalTests: number;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly FileResult[];
}

interface FileResult {
  readonly name: string;
  readonly status: 'passed' | 'failed';
  readonly message: string;
  readonly assertionResults: readonly TestResult[];
}

interface TestResult {
  readonly ancestorTitles: readonly string[];
  readonly title: string;
  readonly fullName: string;
  readonly status: 'passed' | 'failed' | 'pending' | 'skipped' | 'todo';
  readonly failureMessages: readonly string[];
}

/** A run that did not get to its end counts as one failed test, so that nobody takes its silence for success. */
export function missingResult(trouble: string): TestResults {
  const title = 'runs to its end';
  const ancestorTitles = ['the test machine'];
  const test: TestResult = {
    ancestorTitles,
    title,
    fullName: [...ancestorTitles, title].join(' '),
    status: 'failed',
    failureMessages: [trouble],
  };
  return {
    success: false,
    numTotalTests: 1,
    numPassedTests: 0,
    numFailedTests: 1,
    numPendingTests: 0,
    testResults: [{ name: 'test/kernel/run.ts', status: 'failed', message: trouble, assertionResults: [test] }],
  };
}
