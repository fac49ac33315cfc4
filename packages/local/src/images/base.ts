/** What every image of ours has besides its programs: accounts, name resolution and a place for temporary files. */
import { type ImageEntry } from '@podloom/oci';

/** The unprivileged account of our images. Numeric, see ImageConfig. */
export const imageUser = '65532:65532';

/** Base files, with further system accounts where a program wants to find its own. */
export function baseEntries(accounts: Readonly<Record<string, number>> = {}): ImageEntry[] {
  const all = Object.entries({ root: 0, ...accounts, podloom: 65532 });
  const passwd = all.map(([name, id]) => `${name}:x:${id}:${id}::/tmp:/bin/sh\n`);
  return [
    { path: 'etc/passwd', text: passwd.join('') },
    { path: 'etc/group', text: all.map(([name, id]) => `${name}:x:${id}:\n`).join('') },
    // Without it, glibc asks DNS before /etc/hosts.
    { path: 'etc/nsswitch.conf', text: 'passwd: files\ngroup: files\nhosts: files dns\n' },
    { path: 'tmp', directory: true, mode: 0o1777 },
  ];
}
