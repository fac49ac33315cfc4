/** The example of the README, run as a reader would run it. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import './client/testing/api-server.ts';

it('prints what the README says', async () => {
  const folder = new URL('..', import.meta.url);
  const readme = await readFile(new URL('README.md', folder), 'utf8');
  const [program, output] = ['ts', 'text'].map(
    (language) => readme.split(`\`\`\`${language}\n`)[1]?.split('```')[0] ?? '',
  );
  const run = promisify(execFile)(process.execPath, ['--input-type=module-typescript', '--eval', program ?? ''], {
    cwd: folder,
    env: { ...process.env, KUBECONFIG: inject('kubeconfig') },
  });
  expect((await run).stdout).toBe(output);
});
