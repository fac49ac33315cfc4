import { InvalidInput } from '@podloom/api';
import * as fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { duration, flag, integer, oneOf, parseDuration, path, text } from './setting.ts';
import { settings } from './settings.ts';

const agent = settings({
  nodeName: text().env('NODE_NAME').describe('Node that this agent serves.'),
  criSocket: path().default('auto').describe('Container runtime socket.'),
  driftPolicy: oneOf('repair', 'report').default('repair').describe('What to do about drift.'),
  resync: duration().default('10m').describe('Full comparison with the kernel.'),
  port: integer({ min: 0, max: 65_535 }).default('8080').describe('Where to serve metrics.'),
  dryRun: flag().describe('Change nothing.'),
  proxy: text().optional().describe('Proxy to use.'),
});
const env = { NODE_NAME: 'n1' };
const refusal = (args: string[], more = {}) => {
  try {
    agent.read({ args, env, ...more });
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidInput);
    return (error as Error).message;
  }
  return 'accepted';
};

describe('settings', () => {
  it('gives typed values, frozen', () => {
    const values = agent.read({ args: [], env });
    expect(values).toEqual({
      nodeName: 'n1',
      criSocket: 'auto',
      driftPolicy: 'repair',
      resync: 600_000,
      port: 8080,
      dryRun: false,
    });
    expect(Object.isFrozen(values)).toBe(true);
    expectTypeOf(values.driftPolicy).toEqualTypeOf<'repair' | 'report'>();
    expectTypeOf(values.resync).toEqualTypeOf<number>();
    expectTypeOf(values.proxy).toEqualTypeOf<string | undefined>();
  });

  it('prefers flag to environment to file to default', () => {
    const file = { port: 3 };
    const everywhere = { PODLOOM_PORT: '2', ...env };
    expect(agent.read({ args: ['--port', '1'], env: everywhere, file }).port).toBe(1);
    expect(agent.read({ args: [], env: everywhere, file }).port).toBe(2);
    expect(agent.read({ args: [], env, file }).port).toBe(3);
    expect(agent.read({ args: [], env: { ...env, PODLOOM_PORT: '' } }).port).toBe(8080);
    expect(agent.read({ args: ['--dry-run'], env }).dryRun).toBe(true);
    expect(agent.read({ args: ['--dry-run=true'], env }).dryRun).toBe(true);
    expect(agent.read({ args: ['--dry-run=false'], env: { ...env, PODLOOM_DRY_RUN: 'true' } }).dryRun).toBe(false);
    expect(agent.read({ args: ['--no-dry-run'], env: { ...env, PODLOOM_DRY_RUN: 'true' } }).dryRun).toBe(false);
  });

  it.each([
    [['--port', '65536'], '--port: "65536" is not a whole number from 0 to 65535'],
    [['--drift-policy', 'ignore'], '--drift-policy: "ignore" is none of repair, report'],
    [['--resync', '10'], '--resync: "10" is not a duration such as 250ms, 10s, 5m or 1h30m'],
    [['--dry-run=maybe'], "Option '--dry-run' does not take an argument"],
    [['--no-such-flag'], "Unknown option '--no-such-flag'"],
    [['stray'], 'stray'],
  ])('refuses %j and says why', (args, why) => {
    expect(refusal(args)).toContain(why);
  });

  it('names everything that is wrong at once', () => {
    const message = refusal(['--port', 'x'], { env: { PODLOOM_RESYNC: 'soon' }, file: { unknown: 1 } });
    expect(message.split('\n')).toEqual([
      '--node-name (or NODE_NAME) is needed: Node that this agent serves.',
      'PODLOOM_RESYNC: "soon" is not a duration such as 250ms, 10s, 5m or 1h30m',
      '--port: "x" is not a whole number from 0 to 65535',
      'unknown in the file: there is no such setting',
      'See --help',
    ]);
  });

  it('explains itself', () => {
    expect(agent.asksForHelp(['--port', '1', '--help'])).toBe(true);
    expect(agent.help('podloom agent [options]').split('\n').slice(0, 4)).toEqual([
      'Usage: podloom agent [options]',
      '',
      '  --node-name TEXT              Node that this agent serves. [needed; NODE_NAME]',
      '  --cri-socket PATH             Container runtime socket. [default auto; PODLOOM_CRI_SOCKET]',
    ]);
    expect(agent.rows.find(({ name }) => name === 'dryRun')).toMatchObject({
      flag: '--dry-run',
      env: 'PODLOOM_DRY_RUN',
      fallback: 'false',
      isRequired: false,
    });
  });
});

it('reads back any duration that is written in its units', () => {
  fc.assert(
    fc.property(fc.nat(48), fc.nat(59), fc.nat(59), fc.nat(999), (h, m, s, ms) => {
      expect(parseDuration(`${h}h${m}m${s}s${ms}ms`)).toBe(((h * 60 + m) * 60 + s) * 1_000 + ms);
    }),
  );
});
