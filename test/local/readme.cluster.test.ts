/** The example in the package's README does what it says. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { guardCluster } from '../setup/guard.ts';

const root = join(import.meta.dirname, '..', '..');
const name = `r${process.pid}`;

beforeAll(() => guardCluster(name));

it('runs the example of packages/local/README.md', () => {
  const readme = readFileSync(join(root, 'packages', 'local', 'README.md'), 'utf8');
  const example = readme.split('```ts\n')[1]?.split('```')[0] ?? '';
  const code = example.replaceAll("'demo'", JSON.stringify(name));
  // It ends with this process: what makes a cluster must not outlive the guard.
  const mortal = ['--pdeathsig', 'KILL', process.execPath, '--input-type=module-typescript', '--eval', code];
  const printed = execFileSync('setpriv', mortal, { cwd: root, encoding: 'utf8' });
  expect(printed).toMatch(/n1 10\.\d+\.0\.11 true/);
  expect(printed).toMatch(/n2 10\.\d+\.0\.12 true/);
});
