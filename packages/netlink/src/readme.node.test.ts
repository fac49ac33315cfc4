/** The README's example, run as it stands. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

it('does what the README says', () => {
  const root = new URL('../', import.meta.url);
  const example = /```ts\n(.*?)```/s.exec(readFileSync(new URL('README.md', root), 'utf8'))?.[1];
  const printed = execFileSync(process.execPath, ['--input-type=module-typescript', '-'], {
    cwd: fileURLToPath(root),
    input: example,
    encoding: 'utf8',
  });
  expect(printed.split('\n')).toEqual(
    expect.arrayContaining([
      'pod has 10.0.0.2/24',
      'link.set: EINVAL: mtu less than device minimum',
      "[ 'default', '10.0.0.0/24' ]",
    ]),
  );
});
