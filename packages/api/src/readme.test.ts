/** The README's example, run as it stands there. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it("the README's example prints what it says", () => {
  const cwd = join(import.meta.dirname, '..');
  const [, code = ''] = /```ts\n(.*?)```/s.exec(readFileSync(join(cwd, 'README.md'), 'utf8')) ?? [];
  const printed = execFileSync(process.execPath, ['--input-type=module-typescript', '--eval', code], {
    cwd,
    encoding: 'utf8',
  });
  expect(printed).toBe('veth\n');
});
