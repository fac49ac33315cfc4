import { Bug, Conflict, InvalidInput, Unavailable } from '@podloom/api';
import { expect, it } from 'vitest';
import { translateStatus } from '../client/errors.ts';
import { createLog } from '../process/log.ts';
import { judge } from './judge.ts';
import { done, retry, retryAfter } from './result.ts';

const never = new AbortController().signal;

it.each([
  ['is content with what is done', done, never, 'done', 'done', undefined],
  ['waits as long as it is told', retryAfter(5, 'sandbox'), never, { retryAfterMs: 5 }, 'retryAfter', 'debug'],
  ['leaves bad input alone until it changes', retry(new InvalidInput('X', 'x')), never, 'done', 'whenChanged', 'info'],
  ['leaves a conflict alone until it changes', retry(new Conflict('X', 'x')), never, 'done', 'whenChanged', 'info'],
  ['tries again what is away', retry(new Unavailable('X', 'x')), never, 'failed', 'backoff', 'warn'],
  [
    'waits as long as the server asks',
    retry(translateStatus(503, {}, 'GET /', 7_000)),
    never,
    { retryAfterMs: 7_000, failed: true },
    'backoff',
    'warn',
  ],
  ['shouts about a bug and goes on', retry(new Bug('X', 'x')), never, 'done', 'bug', 'error'],
  ['shouts about what nobody foresaw, and tries again', retry(new TypeError('x')), never, 'failed', 'bug', 'error'],
  [
    'takes an error during the stop for the stop',
    retry(new Error('aborted')),
    AbortSignal.abort(),
    'done',
    'stopped',
    'debug',
  ],
])('%s', (_, result, signal, outcome, label, level) => {
  const levels: unknown[] = [];
  const write = (line: string) => void levels.push((JSON.parse(line) as { level: string }).level);
  expect(judge(result, signal, createLog({ name: 'test', level: 'debug', write }))).toEqual({ outcome, label });
  expect(levels).toEqual(level ? [level] : []);
});
