/** Looks at everything of this machine that a cluster could leave changed. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const sysctls = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
  'kernel/hostname',
  'net/ipv4/ip_forward',
  'net/ipv4/conf/all/forwarding',
  'net/ipv4/conf/all/rp_filter',
];
const folders = ['/etc', '/opt', '/run', '/usr/libexec', '/var/lib', '/var/lib/podloom', '/var/log', '/var/run'];

/** What a cluster's own programs call their files, where they are not kept from the machine's. */
const parts = /podloom|kube|cni|containerd|etcd|coredns/;

export interface Machine {
  mounts: string[];
  links: string[];
  addresses: string[];
  routes: string[];
  rules: string;
  sysctls: Record<string, string>;
  namespaces: string[];
  groups: string[];
  files: Record<string, string[]>;
}

/** Without what other clusters and other tests of ours have here at the same time; `clusters` are those that must leave nothing. */
export function observeMachine(clusters: readonly string[]): Machine {
  const isOthers = (line: string): boolean =>
    [...line.matchAll(/\b(?:pl|podloom)-([a-z0-9]+)/g)].some(([, name = '']) => !clusters.includes(name));
  const apart = (found: string[]): string[] => found.filter((line) => !isOthers(line));
  // Programs that have nothing to do with it come, go and write while it is looked.
  const named = (found: string[]): string[] =>
    apart(found).filter((entry) => parts.test(entry) || clusters.some((name) => entry.includes(name)));
  return {
    mounts: apart(lines(readFileSync('/proc/self/mounts', 'utf8'))),
    links: apart(lines(print('ip', '-oneline', 'link'))).map((line) => line.split(' ')[1] ?? ''),
    addresses: apart(lines(print('ip', '-oneline', 'address'))).map((line) => line.split(/\s+/).slice(1, 4).join(' ')),
    routes: apart(lines(print('ip', '-4', 'route', 'show', 'table', 'all'))),
    rules: print('nft', 'list', 'ruleset'),
    sysctls: Object.fromEntries(sysctls.map((name) => [name, readIfThere(`/proc/sys/${name}`)])),
    namespaces: named(list('/run/netns')),
    groups: named(cgroups('/sys/fs/cgroup')),
    files: Object.fromEntries(folders.map((folder) => [folder, named(list(folder))])),
  };
}

/** One that is dead and waits for its parent to notice is not. */
export function isAlive(pid: number): boolean {
  return readIfThere(`/proc/${pid}/cmdline`) !== '';
}

/** Pids of all processes of a cluster: the same that a user would look for, by control group or by command line. */
export function processesOf(cluster: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      const group = readIfThere(`/proc/${pid}/cgroup`);
      const command = readIfThere(`/proc/${pid}/cmdline`);
      // One that is dead and waits for its parent to notice has no command line any more.
      if (command === '') return false;
      return group.includes(`/podloom-${cluster}/`) || command.includes(`/var/lib/podloom/${cluster}/`);
    })
    .map(Number);
}

export function removeGroups(cluster: string): void {
  const ours = ['-path', `*/podloom-${cluster}*`, '-type', 'd'];
  execFileSync('find', ['/sys/fs/cgroup', '-depth', ...ours, '-exec', 'rmdir', '{}', '+'], { stdio: 'pipe' });
}

function cgroups(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.name.startsWith('podloom-') ? [path] : existsSync(join(path, 'cgroup.procs')) ? topGroups(path) : [];
    })
    .toSorted();
}

function topGroups(hierarchy: string): string[] {
  return readdirSync(hierarchy, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(hierarchy, entry.name));
}

function print(command: string, ...args: string[]): string {
  return execFileSync(command, args, { encoding: 'utf8' });
}

function lines(text: string): string[] {
  return text.split('\n').filter(Boolean).toSorted();
}

function list(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).toSorted() : [];
}

/** A process may go while it is looked at, and not every kernel has every setting. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EINVAL') return '';
    throw error;
  }
}
