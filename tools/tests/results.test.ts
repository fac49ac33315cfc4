import { describe, expect, it } from 'vitest';
import { type Results, countOf, failuresOf, skippedTests, slowest } from './results.ts';

const test = (fullName: string, status: string, ...failureMessages: string[]) => ({
  fullName,
  status,
  failureMessages,
});
const file = (name: string, ...assertionResults: ReturnType<typeof test>[]) => ({
  name: `/tree/${name}`,
  status: assertionResults.some(({ status }) => status === 'failed') ? 'failed' : 'passed',
  message: '',
  assertionResults,
});
const results: Results = {
  numPassedTests: 2,
  numFailedTests: 1,
  testResults: [
    file('a.test.ts', test('works', 'passed'), test('needs vlan', 'pending'), test('is to come', 'todo')),
    file('b.test.ts', test('works', 'passed'), test('breaks', 'failed', 'expected 1\nto be 2')),
  ],
};

describe('results of a tier', () => {
  it('tell what was skipped, by file', () => {
    const skipped = skippedTests(results, '/tree');
    expect(skipped).toEqual({ 'a.test.ts': ['needs vlan', 'is to come'] });
    expect(countOf(skipped)).toBe(2);
    expect(skippedTests(results, '/tree', { 'a.test.ts': ['needs vlan'] })).toEqual({ 'a.test.ts': ['needs vlan'] });
  });

  it('tell what failed, and of a file that could not be loaded why', () => {
    expect(results.testResults.flatMap((one) => failuresOf(one, '/tree'))).toEqual([
      'b.test.ts: breaks\n    expected 1\n    to be 2',
    ]);
    expect(failuresOf({ ...file('c.test.ts'), status: 'failed', message: 'SyntaxError' }, '/tree')).toEqual([
      'c.test.ts\n    SyntaxError',
    ]);
  });

  it('name the slowest files first, and no more than are asked for', () => {
    const durations = [
      { file: '/tree/quick.test.ts', ms: 20 },
      { file: '/tree/slow.test.ts', ms: 61_240 },
      { file: '/tree/middle.test.ts', ms: 1_500 },
    ];
    expect(slowest(durations, '/tree', 2)).toEqual(['   61.2 s  slow.test.ts', '    1.5 s  middle.test.ts']);
  });
});
