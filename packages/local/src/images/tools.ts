/**
 * A small image to look at networks from inside a pod, made of this machine's Debian packages. It runs without root and without
 * capabilities: ping is iputils' (through a datagram ICMP socket), as busybox's insists on a raw one. tcpdump, and whatever changes
 * a link, still needs what the kernel asks for: a container with `runAsUser: 0` and the capability. `sh` is dash, because busybox's own
 * prefers its applets to the programs of the same name. bash is there for people: `kubectl exec -it POD -- /bin/bash` is what many type first.
 */
import { Unavailable } from '@podloom/api';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { baseEntries, imageUser } from './base.ts';
import { ensureOciArchive, type ImageArchive, type ImageEntry } from '@podloom/oci';
import { sharedLibraries } from './libraries.ts';

/** Program in the image: the Debian package that it comes from, and its name there where that differs. */
const programs: Record<string, { package: string; name?: string }> = {
  busybox: { package: 'busybox-static' },
  bash: { package: 'bash' },
  sh: { package: 'dash', name: 'dash' },
  ip: { package: 'iproute2' },
  bridge: { package: 'iproute2' },
  ss: { package: 'iproute2' },
  tc: { package: 'iproute2' },
  ping: { package: 'iputils-ping' },
  nc: { package: 'netcat-openbsd', name: 'nc.openbsd' },
  tcpdump: { package: 'tcpdump' },
};

const debianFolders = ['/usr/bin', '/usr/sbin', '/bin', '/sbin'];

/** A static busybox, for images that need no more than a shell. */
export function busyboxProgram(): string {
  const file = debianFolders.map((folder) => join(folder, 'busybox')).find(existsSync);
  if (!file) throw missingTools(['busybox-static']);
  return file;
}

export async function toolsImage(options: {
  readonly out: string;
  readonly name: string;
  /** Folders with the programs, for tests. */
  readonly searchPath?: readonly string[];
}): Promise<ImageArchive & { readonly built: boolean }> {
  const { out, name, searchPath = debianFolders } = options;
  return ensureOciArchive({
    out,
    name,
    layers: [toolsEntries(searchPath)],
    config: {
      // Ends at once when the pod is deleted: process 1 gets no signal that it did not ask for.
      cmd: ['/bin/sh', '-c', 'trap "exit 0" TERM INT; sleep infinity & wait'],
      env: { PATH: '/usr/bin', HOME: '/tmp', PS1: '\\h:\\w\\$ ' },
      user: imageUser,
    },
  });
}

function toolsEntries(searchPath: readonly string[]): ImageEntry[] {
  const found = new Map<string, string>();
  const missing = new Set<string>();
  for (const [program, { package: debian, name = program }] of Object.entries(programs)) {
    const file = searchPath.map((folder) => join(folder, name)).find(existsSync);
    if (file) found.set(program, file);
    else missing.add(debian);
  }
  if (missing.size > 0) throw missingTools([...missing]);
  const busybox = execFileSync(found.get('busybox')!, ['--list'], { encoding: 'utf8' });
  const applets = busybox.split('\n').filter((applet) => /^[\w.[-]+$/.test(applet) && !found.has(applet));
  return [
    ...baseEntries({ tcpdump: 65531 }), // tcpdump becomes this user after opening its socket, and fails without
    ...['bin', 'sbin'].map((path) => ({ path, link: 'usr/bin' })),
    { path: 'usr/sbin', link: 'bin' },
    ...[...found].map(([program, file]) => ({ path: `usr/bin/${program}`, file, mode: 0o755 })),
    ...applets.map((applet) => ({ path: `usr/bin/${applet}`, link: 'busybox' })),
    ...sharedLibraries(...found.values()),
  ];
}

function missingTools(packages: readonly string[]): Unavailable {
  const install = `apt-get install ${packages.join(' ')}`;
  return new Unavailable('TOOLS_MISSING', `The image is made of Debian packages that are not here: ${install}`);
}
