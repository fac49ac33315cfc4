import { inspectOciArchive, unpackOciArchive } from '@podloom/oci';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle } from './bundle.ts';
import { productImage } from './product.ts';

const run = promisify(execFile);
const name = 'podloom.local/podloom:test';
let folder: string;
let entry: string;
let archive: string;
let root: string;

/** Stands in for the command line where a test must see what is behind it. */
function probe(): string {
  const koffi = join(import.meta.dirname, '../../node_modules/koffi/index.js');
  return `import koffi from ${JSON.stringify(koffi)};
    import { lookup } from 'node:dns/promises';
    const getpid = koffi.load('libc.so.6').func('int getpid()');
    const { address } = await lookup('known.example');
    console.log(JSON.stringify({ native: getpid() === process.pid, uid: process.getuid(), address, args: process.argv.slice(2) }));`;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloom-product-'));
  entry = join(folder, 'probe.ts');
  archive = join(folder, 'a.tar');
  root = join(folder, 'root');
  await writeFile(entry, probe());
  await productImage({ out: archive, name, entry });
  await unpackOciArchive(archive, root);
  // As the kubelet does.
  await writeFile(join(root, 'etc/hosts'), '192.0.2.7 known.example\n');
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const inImage = async (...command: string[]): Promise<string> => {
  const env = { PATH: '/usr/bin:/usr/sbin:/bin:/sbin' };
  const { stdout } = await run('chroot', ['--userspec=65532:65532', root, ...command], { env });
  return stdout;
};

async function putBundle(from: string, as: string): Promise<void> {
  for (const file of await bundle(from, as)) {
    await writeFile(join(root, 'opt/podloom', file.name), file.text, { mode: 0o755 });
  }
}

describe('the product image', () => {
  it('runs its bundle without root, with native calls and names from the hosts file', async () => {
    expect(JSON.parse(await inImage('podloom', 'a', '--b'))).toEqual({
      native: true,
      uid: 65532,
      address: '192.0.2.7',
      args: ['a', '--b'],
    });
  });

  it('runs the command line itself', async () => {
    await putBundle(join(import.meta.dirname, '../../packages/cli/src/main.ts'), 'real');
    expect(await inImage('/opt/podloom/real.mjs', '--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('listens to the kernel', async () => {
    const netlink = join(import.meta.dirname, '../../packages/netlink/src/index.ts');
    const listening = join(folder, 'listening.ts');
    await writeFile(
      listening,
      `import { monitor } from ${JSON.stringify(netlink)};
      const one = monitor(() => undefined);
      await one.close();
      console.log('closed');`,
    );
    await putBundle(listening, 'listening');
    // As the kubelet does: the monitor asks /proc whether namespaces are still mounted.
    const script = 'mkdir -p "$0/proc" && mount --bind /proc "$0/proc" && exec chroot --userspec=65532:65532 "$0" "$1"';
    const { stdout } = await run('unshare', ['--mount', 'sh', '-c', script, root, '/opt/podloom/listening.mjs']);
    expect(stdout).toBe('closed\n');
  });

  it('is the same byte for byte when it is built again', async () => {
    const again = join(folder, 'b.tar');
    await productImage({ out: again, name, entry });
    expect(await sha256(again)).toBe(await sha256(archive));
  });

  it('holds no shell and no other program than Node and ours', async () => {
    expect((await readdir(join(root, 'usr/bin'))).toSorted()).toEqual(['node', 'podloom']);
    expect((await readdir(root)).filter((path) => path.endsWith('bin'))).toEqual([]);
  });

  it('is at most 50 MB, with the bundle in a layer of its own', async () => {
    const { sizeBytes, layers } = await inspectOciArchive(archive);
    expect(sizeBytes).toBeLessThan(50e6);
    expect(layers).toHaveLength(2);
  });
});

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
