import { Unavailable } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { createLog } from './log.ts';

function logged(level: 'debug' | 'info' = 'info') {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  return { log: createLog({ name: 'test', level, write }), lines };
}
const token = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl';

describe('createLog', () => {
  it('writes one object a line, with the fields of its parents', () => {
    const { log, lines } = logged();
    log.child({ controller: 'pods' }).child({ object: 'ns/a' }).info({ tookMs: 3 }, 'Attached link to Pod');
    log.debug({}, 'Nobody wants to know');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: 'info',
      name: 'test',
      controller: 'pods',
      object: 'ns/a',
      tookMs: 3,
      msg: 'Attached link to Pod',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
  });

  it('says of an error what it is, what to do about it and where it came from', () => {
    const { log, lines } = logged();
    log.warn({ err: new Unavailable('API_UNREACHABLE', 'the server is away') }, 'Could not list');
    expect(lines[0]?.['err']).toMatchObject({
      type: 'Unavailable',
      code: 'API_UNREACHABLE',
      retry: 'backoff',
      message: 'the server is away',
      stack: expect.stringContaining('log.test.ts'),
    });
  });

  it.each([
    ['a field', { token }],
    ['a nested field', { user: { token, password: token } }],
    ['a header two levels down', { request: { headers: { authorization: `Bearer ${token}` } } }],
    ['a kubeconfig field', { user: { 'client-key-data': token } }],
    ['the message of an error', { err: new Error(`refused: Authorization: Bearer ${token}`) }],
    ['the cause of an error', { err: new Error('refused', { cause: new Error(`Bearer ${token}`) }) }],
    ['a string that was thrown', { err: `sent ${token}` }],
  ])('removes a credential from %s', (_, fields) => {
    const { log, lines } = logged();
    log.child({}).error(fields, 'Refused');
    const text = JSON.stringify(lines);
    expect(text).toContain('[removed]');
    expect(text).not.toContain(token);
    expect(text).not.toContain('c2lnbmF0dXJl');
  });
});
