/**
 * Network settings of a namespace: files below /proc/sys/net, which show the namespace of the thread that opens them. So a file is
 * opened inside; what is read or written then belongs to that namespace.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { NetlinkError, translating } from './wire/error.ts';

type Inside = <T>(work: () => T extends Promise<unknown> ? never : T) => T;

export interface Sysctl {
  /** By path below `net`, in either spelling: `net/ipv4/ip_forward`, `ipv4/conf/eth0/forwarding`. */
  get(path: string): string;
  set(path: string, value: string | number): void;
}

export function sysctlIn(inside: Inside): Sysctl {
  return {
    get: (path) => {
      const file = fileOf(path);
      return translating(`sysctl.get ${path}`, () => inside<string>(() => readFileSync(file, 'utf8').trimEnd()));
    },
    set: (path, value) => {
      const file = fileOf(path);
      translating(`sysctl.set ${path}`, () => inside<void>(() => writeFileSync(file, String(value), { flag: 'r+' })));
    },
  };
}

/** Slashes only, since names of links may contain dots; and nothing that leads out of `net`. */
function fileOf(path: string): string {
  const parts = path.replace(/^net\//, '').split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('\0'))) {
    throw new NetlinkError('sysctl', 22, { kernelMessage: `"${path}" is not a path below net` });
  }
  return `/proc/sys/net/${parts.join('/')}`;
}
