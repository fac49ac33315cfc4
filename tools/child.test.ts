import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';

/** A process that runs this code as its child. */
function runner(code: string) {
  const own = `
    import { runToEnd } from '${join(import.meta.dirname, 'child.ts')}';
    process.exitCode = await runToEnd(process.execPath, ['--eval', process.argv[1]], '/');
    console.log('went on');`;
  return spawn(process.execPath, ['--input-type=module', '--eval', own, code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

describe('a program that is run to its end', () => {
  it('gives its exit code', async () => {
    const parent = runner('process.exit(7)');
    const said = text(parent.stdout);
    expect(await once(parent, 'close')).toEqual([7, null]);
    expect(await said).toBe('went on\n');
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('is told of %s, and is over before its parent is', async (signal) => {
    const parent = runner(`
      process.once('${signal}', () => setImmediate(() => { console.log('cleaned up'); process.exit(); }));
      setInterval(() => undefined, 60_000);
      console.log('runs');`);
    const closed = once(parent, 'close');
    let said = '';
    parent.stdout.setEncoding('utf8').on('data', (piece: string) => {
      said += piece;
      if (said === 'runs\n') parent.kill(signal);
    });
    expect(await closed).toEqual([null, signal]);
    expect(said).toBe('runs\ncleaned up\n');
  });
});
