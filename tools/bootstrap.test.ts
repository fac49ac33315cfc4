/** The script that gets what a machine lacks, in a folder of its own with a Go that only tells its version. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const run = promisify(execFile);

interface Machine {
  readonly root: string;
  readonly bootstrap: (step: string) => Promise<unknown>;
}

async function machineWithGo(version: string): Promise<Machine> {
  const root = await mkdtemp(join(tmpdir(), 'podloom-bootstrap-'));
  onTestFinished(() => rm(root, { recursive: true }));
  for (const [module, needed] of Object.entries({ old: '1.25', new: '1.26.8' })) {
    const folder = join(root, 'packages/local/binaries', module);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'go.mod'), `module example.com/${module}\n\ngo ${needed}\n`);
  }
  const bin = join(root, 'bin');
  await mkdir(bin);
  await cp(join(import.meta.dirname, 'bootstrap.sh'), join(root, 'tools/bootstrap.sh'));
  await writeFile(join(bin, 'go'), `#!/bin/sh\necho go${version}\n`, { mode: 0o755 });
  // Nothing is got from anywhere.
  for (const name of ['python3', 'pip3']) await writeFile(join(bin, name), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}` };
  return { root, bootstrap: (step) => run('sh', [join(root, 'tools/bootstrap.sh'), step], { env }) };
}

it('takes a Go that can build all modules', async () => {
  const { root, bootstrap } = await machineWithGo('1.26.8');
  await bootstrap('go');
  expect(await readlink(join(root, '.tools/bin/go'))).toBe(join(root, 'bin/go'));
});

it('gets another one where that of the machine is too old for one of them', async () => {
  const { bootstrap } = await machineWithGo('1.26.7');
  await expect(bootstrap('go')).rejects.toThrow('Getting Go');
});
