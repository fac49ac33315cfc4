import { describe, expect, it } from 'vitest';
import { failureOf, parseResult, seenIn } from './result.ts';

describe('seenIn', () => {
  it("tells the pod's end and not the node's", () => {
    expect(
      seenIn({
        interfaces: [
          { name: 'pl0', mac: '02:00:00:00:00:09' },
          { name: 'net1', mac: '02:00:00:00:00:0A', mtu: 1450, sandbox: '/proc/7/ns/net' },
          { name: 'net1b', sandbox: '/proc/7/ns/net' },
        ],
        ips: [
          { address: '10.1.0.2/24', interface: 1 },
          { address: 'fd00::2/64' },
          { address: '10.2.0.2/24', interface: 2 },
          { address: 'x' },
        ],
      }),
    ).toEqual({ macAddress: '02:00:00:00:00:0a', mtuBytes: 1450, addresses: ['10.1.0.2/24', 'fd00::2/64'] });
  });

  it.each([[{}], [undefined], [{ interfaces: {}, ips: 'x' }], [{ interfaces: [1], ips: [null] }]])(
    'finds nothing in %j',
    (result) => expect(seenIn(result)).toEqual({ addresses: [] }),
  );
});

it.each([
  [11, true, 'TryAgainLater'],
  [50, true, 'TryAgainLater'],
  [5, true, 'PluginFailed'],
  [100, true, 'PluginFailed'],
  [1, false, 'PluginFailed'],
  [2, false, 'PluginFailed'],
  [4, false, 'PluginFailed'],
  [6, false, 'PluginFailed'],
  [7, false, 'PluginFailed'],
] as const)('tries code %i again: %s', (code, isRetryable, reason) => {
  const failure = failureOf('bridge', 'exit code 1', JSON.stringify({ code, msg: 'no', details: 'more' }), '');
  expect(failure).toMatchObject({ code, isRetryable, reason });
  expect(failure.message).toBe(`The CNI plugin bridge failed (code ${code}): no: more`);
});

it('says what it can of a plugin that says nothing sensible', () => {
  expect(failureOf('x', 'SIGSEGV', '', '\u001b[2Jpanic\n').message).toBe('The CNI plugin x failed (SIGSEGV): [2Jpanic');
  expect(failureOf('x', 'exit code 3', '', '').message).toMatch(/it said nothing/);
  for (const text of ['', 'ok', '[]', '{"a":'])
    expect(() => parseResult('x', text)).toThrow(expect.objectContaining({ reason: 'InvalidResult' }));
});
