/** Settings of one link. Apart from their spelling there is one trap: in a container that is not privileged /proc/sys cannot be written. */
import { existsSync, writeFileSync } from 'node:fs';
import { type Netns, NetlinkError, isNetlinkError } from '@podloom/netlink';
import { isSameSetting } from '@podloom/network';

/** net.ipv4.conf.rp_filter of eth0 is net/ipv4/conf/eth0/rp_filter. */
export function sysctlPath(name: string, link: string): string {
  const parts = name.split('.');
  return [...parts.slice(0, -1), link, ...parts.slice(-1)].join('/');
}

const EINVAL = 22;

/** The node's settings without the container's read-only mount over them: as the chart mounts them, or through the node's first process. */
const writable = ['/host/proc/sys', '/proc/1/root/proc/sys'];

/** Refuses what the kernel keeps as something else (a time that it rounds): it would look changed by someone at each look. Then all is as it was. */
export function setSysctl(netns: Netns, path: string, value: string): void {
  const before = netns.sysctl.get(path);
  write(netns, path, value);
  const kept = netns.sysctl.get(path);
  if (isSameSetting(kept, value)) return;
  write(netns, path, before);
  const kernelMessage = `the kernel keeps ${kept} instead of ${value}; ask for ${kept}`;
  throw new NetlinkError(`sysctl.set ${path}`, EINVAL, { kernelMessage });
}

function write(netns: Netns, path: string, value: string): void {
  try {
    netns.sysctl.set(path, value);
  } catch (error) {
    const root = writable.find((place) => existsSync(`${place}/net`));
    if (!isNetlinkError(error, 'EROFS') || root === undefined) throw error;
    // Whose settings the file shows is decided by the thread that opens it, wherever the file was found.
    netns.run<void>(() => {
      try {
        writeFileSync(`${root}/${path}`, value, { flag: 'r+' });
      } catch (cause) {
        const { errno = -EINVAL } = cause as NodeJS.ErrnoException;
        throw new NetlinkError(`sysctl.set ${path} to ${value}`, -errno);
      }
    });
  }
}
