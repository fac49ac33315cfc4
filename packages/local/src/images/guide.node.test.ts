import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inspectOciArchive, unpackOciArchive } from '@podloom/oci';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const repository = join(import.meta.dirname, '../../../..');

it('makes the image of the guide, and the image does what it says', async () => {
  const guide = await readFile(join(repository, 'docs/guides/images.md'), 'utf8');
  const [, example] = /```ts\n(.*?)```/s.exec(guide)!;
  const folder = await mkdtemp(join(tmpdir(), 'podloom-guide-'));
  try {
    const archive = join(folder, 'hello.tar');
    const code = example!.replace('dist/hello.tar', archive);
    await run(process.execPath, ['--input-type=module', '--eval', code], { cwd: repository });
    const { config, name } = await inspectOciArchive(archive);
    await unpackOciArchive(archive, join(folder, 'root'));
    const { stdout } = await run('chroot', [join(folder, 'root'), ...config.entrypoint!]);
    expect([name, stdout]).toEqual(['podloom.local/hello:1', 'hello\n']);
  } finally {
    await rm(folder, { recursive: true });
  }
});
