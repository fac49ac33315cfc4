/**
 * One QEMU machine, booted straight into a kernel with this host's root as its own, read-only, over virtiofs: no disk image and no
 * initramfs to build, and every program and source file is where it is here.
 *
 * What the machine says comes over three lines: the kernel's console, the output of what runs in it, and one result file.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DebianKernel } from './debian-kernel.ts';

export interface MachineSettings {
  readonly kernel: DebianKernel;
  readonly init: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly seconds: number;
  readonly onOutput: (chunk: Buffer) => void;
}

export interface MachineRun {
  readonly console: string;
  readonly result: string;
  /** Why the machine did not end by itself, where it did not. */
  readonly trouble?: string;
}

const memory = '2G';
/** A second processor gains nothing here and made QEMU 7.2 and 10.0 crash now and then. */
const processors = '1';
/** Debian 12 ships it with QEMU, Debian 13 as a package of its own. */
const virtiofsdPlaces = ['/usr/lib/qemu/virtiofsd', '/usr/libexec/virtiofsd', '/usr/lib/virtiofsd'];

export async function runMachine(settings: MachineSettings): Promise<MachineRun> {
  const folder = mkdtempSync(join(tmpdir(), 'podloom-kernel-'));
  const children: ChildProcess[] = [];
  const servers: Server[] = [];
  const stop = () => {
    // SIGTERM, because timeout(1) cannot pass on SIGKILL.
    for (const child of children) child.kill('SIGTERM');
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', stop);
  try {
    const socket = join(folder, 'root.sock');
    const share = spawn(
      virtiofsd(),
      [`--socket-path=${socket}`, '-o', 'source=/', '-o', 'cache=always', '-o', 'sandbox=chroot'],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    children.push(share);
    const shareLog = collect(share);
    await exists(socket, share, shareLog);

    const result: Buffer[] = [];
    servers.push(
      await line(join(folder, 'output'), settings.onOutput),
      await line(join(folder, 'result'), (chunk) => result.push(chunk)),
    );
    // The limit is kept by timeout(1), so that it holds even if this process is killed.
    const machine = spawn('timeout', ['--kill-after=5', String(settings.seconds), ...qemu(folder, socket, settings)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(machine);
    const log = collect(machine);
    // With the ends of its lines: what was said last may come after the exit.
    const [code, signal] = (await once(machine, 'close')) as [number | null, string | null];
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    const console = log();
    const trouble = troubleOf(console, code, signal, settings.seconds);
    return { console, result: Buffer.concat(result).toString(), ...(trouble === undefined ? {} : { trouble }) };
  } finally {
    process.removeListener('exit', stop);
    stop();
  }
}

function qemu(folder: string, socket: string, { kernel, init, environment, args }: MachineSettings): string[] {
  const commandLine = [
    'console=ttyS0 root=root rootfstype=virtiofs ro panic=-1 mitigations=off tsc=reliable random.trust_cpu=on loglevel=5',
    `init=${init}`,
    ...Object.entries(environment).map(([name, value]) => `${name}="${value}"`),
    '--',
    ...args.map((word) => `"${word}"`),
  ].join(' ');
  const port = (name: string) => [
    ['-chardev', `socket,id=${name},path=${join(folder, name)}`],
    ['-device', `virtserialport,chardev=${name},name=${name}`],
  ];
  return [
    ['qemu-system-x86_64', '-nodefaults', '-no-reboot'],
    ['-M', 'q35'],
    ['-accel', 'tcg'],
    ['-cpu', 'max'],
    ['-smp', processors],
    ['-display', 'none'],
    ['-serial', 'stdio'],
    ['-m', memory],
    // virtiofsd reads and writes the guest's memory, so that has to be shared.
    ['-object', `memory-backend-memfd,id=memory,size=${memory},share=on`],
    ['-numa', 'node,memdev=memory'],
    ['-chardev', `socket,id=root,path=${socket}`],
    ['-device', 'vhost-user-fs-pci,queue-size=1024,chardev=root,tag=root'],
    ['-device', 'virtio-serial-pci'],
    ...port('output'),
    ...port('result'),
    ['-kernel', kernel.image],
    ['-append', commandLine],
  ].flat();
}

function troubleOf(console: string, code: number | null, signal: string | null, seconds: number): string | undefined {
  const panic = /Kernel panic.*/.exec(console);
  if (panic !== null) return panic[0];
  if (code === 124 || code === 137) return `The machine was not done after ${seconds} s`;
  if (code !== 0) return `QEMU ended with ${signal ?? `exit code ${code}`}`;
  return undefined;
}

function virtiofsd(): string {
  const found = virtiofsdPlaces.find((path) => existsSync(path));
  if (found === undefined)
    throw new Error('There is no virtiofsd; install qemu-system-common (Debian 12) or virtiofsd (Debian 13)');
  return found;
}

function collect(child: ChildProcess): () => string {
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

async function line(path: string, onData: (chunk: Buffer) => void): Promise<Server> {
  const server = createServer((connection) => connection.on('data', onData));
  server.listen(path);
  await once(server, 'listening');
  return server;
}

/** virtiofsd says nothing when it is ready; its socket is the sign. */
async function exists(path: string, child: ChildProcess, log: () => string): Promise<void> {
  for (let tries = 0; tries < 4_800; tries += 1) {
    if (existsSync(path)) return;
    if (child.exitCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`virtiofsd did not start: ${log()}`);
}
