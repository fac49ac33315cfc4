import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { binaries, type Binaries } from '../binaries/build.ts';
import { inspectOciArchive, unpackOciArchive } from '@podloom/oci';
import { pauseImage } from './pause.ts';
import { toolsImage } from './tools.ts';

const run = promisify(execFile);
const name = 'podloom.local/tools:test';
let folder: string;
let archive: string;
let root: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloom-tools-'));
  archive = join(folder, 'tools.tar');
  root = join(folder, 'root');
  await toolsImage({ out: archive, name });
  await unpackOciArchive(archive, root);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('the tools image', () => {
  it.each([
    ['ip', ['-V'], /iproute2/],
    ['bridge', ['-V'], /iproute2|bridge utility/],
    ['tc', ['-V'], /iproute2/],
    ['ss', ['-V'], /iproute2/],
    ['ping', ['-V'], /iputils/],
    ['nc', ['-h'], /OpenBSD netcat/],
    ['tcpdump', ['--version'], /libpcap/],
    ['wget', ['--help'], /BusyBox/],
    ['httpd', ['--help'], /BusyBox/],
    ['sh', ['-c', 'id -un; ls /sbin/ip'], /^podloom\n\/sbin\/ip\n$/],
    ['sh', ['-c', 'ping -V; ip -V'], /iputils[^]*iproute2/],
    ['bash', ['-c', 'echo $BASH; ping -V'], /^\/bin\/bash\nping from iputils/],
  ])('runs %s without root and with nothing else of this machine', async (program, args, says) => {
    const outcome = await run('chroot', ['--userspec=65532:65532', root, `/bin/${program}`, ...args], {
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    }).catch((failed: { stdout: string; stderr: string }) => failed);
    expect(outcome.stdout + outcome.stderr).toMatch(says);
  });

  it('pings without any capability where the namespace allows datagram ICMP sockets', async () => {
    const script = `ip link set lo up && echo "0 65533" > /proc/sys/net/ipv4/ping_group_range &&
      exec chroot --userspec=65532:65532 "$0" /bin/ping -c 1 -W 5 127.0.0.1`;
    const { stdout } = await run('unshare', ['--net', 'sh', '-c', script, root]);
    expect(stdout).toMatch(/1 received/);
  });

  it('has no file with capabilities or set-user-id to lean on', async () => {
    expect(lstatSync(join(root, 'bin/ping')).mode & 0o7777).toBe(0o755);
    const { stdout } = await run('find', [root, '-type', 'f', '-perm', '/6000']);
    expect(stdout).toBe('');
  });

  it('names the Debian packages that are missing', async () => {
    const none = toolsImage({ out: join(folder, 'none.tar'), name, searchPath: [folder] });
    await expect(none).rejects.toThrow(
      /apt-get install busybox-static bash dash iproute2 iputils-ping netcat-openbsd tcpdump$/,
    );
  });
});

describe('a real containerd', () => {
  let found: Binaries;
  let containerd: ChildProcess;
  let ctr: (...args: string[]) => Promise<string>;
  let runFlags: string[];

  beforeAll(async () => {
    found = await binaries({ modules: ['node', 'pause'] });
    const home = join(folder, 'containerd');
    const socket = join(home, 'c.sock');
    await mkdir(home);
    await writeFile(
      join(home, 'config.toml'),
      `version = 3
root = '${home}/root'
state = '${home}/state'
disabled_plugins = ['io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime', 'io.containerd.grpc.v1.cri', 'io.containerd.nri.v1.nri']
[grpc]
  address = '${socket}'
[ttrpc]
  address = '${socket}.ttrpc'
`,
    );
    const env = { PATH: `${found.searchPath}:${process.env['PATH']}` };
    containerd = spawn(found.path('containerd'), ['--config', join(home, 'config.toml')], { env, stdio: 'ignore' });
    ctr = async (...args) => {
      const { stdout } = await run(found.path('ctr'), ['-a', socket, '-n', 'test', ...args], { env });
      return stdout;
    };
    // Nothing of it outside its folder: ctr would use /run/containerd and a cgroup that nobody removes.
    runFlags = ['--cgroup', '', '--fifo-dir', join(home, 'fifo'), '--runc-root', join(home, 'runc')];
    await vi.waitFor(() => ctr('version'), { timeout: 180_000, interval: 100 });
  });
  afterAll(async () => {
    if (!containerd?.pid) return;
    // A test that failed half-way leaves a task, and its shim would outlive containerd.
    for (const id of (await ctr('tasks', 'ls', '-q')).split('\n').filter(Boolean))
      await ctr('tasks', 'rm', '--force', id);
    const closed = once(containerd, 'close');
    containerd.kill('SIGTERM');
    await closed;
  });

  it('imports the archive under its name, with its digest', async () => {
    await ctr('images', 'import', archive);
    const { digest } = await inspectOciArchive(archive);
    const line = (await ctr('images', 'ls')).split('\n').find((text) => text.startsWith(name));
    expect(line).toContain(digest);
  });

  it('runs a command of the image as its user', async () => {
    const out = await ctr('run', ...runFlags, '--rm', name, 'podloom-test', '/bin/sh', '-c', 'id -u; ip -o link');
    expect(out).toMatch(/^65532\n1: lo/);
  });

  it.each([
    ['pause', async (out: string, image: string) => pauseImage({ out, name: image, program: found.path('pause') })],
    ['tools', async (out: string, image: string) => toolsImage({ out, name: image })],
  ])('runs %s without a command until it is told to end', async (id, build) => {
    const out = join(folder, `${id}-idle.tar`);
    const image = `podloom.local/${id}:idle`;
    await build(out, image);
    await ctr('images', 'import', out);
    await ctr('run', ...runFlags, '--detach', image, id);
    expect(await ctr('tasks', 'ls')).toMatch(new RegExp(`${id}\\s+\\d+\\s+RUNNING`));
    // A signal that comes before the program asks for signals is lost to process 1, so it is sent until it is heard.
    await vi.waitFor(
      async () => {
        const tasks = await ctr('tasks', 'ls');
        if (tasks.includes('RUNNING')) await ctr('tasks', 'kill', '--signal', 'SIGTERM', id);
        expect(tasks).toMatch(new RegExp(`${id}\\s+\\d+\\s+STOPPED`));
      },
      { timeout: 180_000, interval: 100 },
    );
    await ctr('tasks', 'rm', id);
    await ctr('containers', 'rm', id);
  });
});
