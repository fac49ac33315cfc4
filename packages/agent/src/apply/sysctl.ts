/** Settings of one link. Apart from their spelling there is one trap: in a container that is not privileged /proc/sys cannot be written. */
import { existsSync, writeFileSync } from 'node:fs';
import { type Netns, isNetlinkError } from '@podloom/netlink';

/** net.ipv4.conf.rp_filter of eth0 is net/ipv4/conf/eth0/rp_filter. */
export function sysctlPath(name: string, link: string): string {
  const parts = name.split('.');
  return [...parts.slice(0, -1), link, ...parts.slice(-1)].join('/');
}

/** The node's settings without the container's read-only mount over them: as the chart mounts them, or through the node's first process. */
const writable = ['/host/proc/sys', '/proc/1/root/proc/sys'];

export function setSysctl(netns: Netns, path: string, value: string): void {
  try {
    netns.sysctl.set(path, value);
  } catch (error) {
    const root = writable.find((place) => existsSync(`${place}/net`));
    if (!isNetlinkError(error, 'EROFS') || root === undefined) throw error;
    // Whose settings the file shows is decided by the thread that opens it, wherever the file was found.
    netns.run<void>(() => writeFileSync(`${root}/${path}`, value, { flag: 'r+' }));
  }
}
