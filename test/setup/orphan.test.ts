import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('ends with the process that started it', async () => {
  const code = 'process.send("busy"); setInterval(() => undefined, 60_000)';
  const child = spawn(process.execPath, ['--import', join(import.meta.dirname, 'orphan.ts'), '--eval', code], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  child.disconnect();
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
});
