/** Settings of one link. Apart from their spelling there is one trap: in a container that is not privileged /proc/sys cannot be written. */
import { writeFileSync } from 'node:fs';
import { type Netns, isNetlinkError } from '@podloom/netlink';

/** net.ipv4.conf.rp_filter of eth0 is net/ipv4/conf/eth0/rp_filter. */
export function sysctlPath(name: string, link: string): string {
  const parts = name.split('.');
  return [...parts.slice(0, -1), link, ...parts.slice(-1)].join('/');
}

/** Where the chart mounts the node's /proc/sys/net, which is not read-only. Which namespace it shows is still that of the thread. */
const mounted = '/host/proc/sys';

export function setSysctl(netns: Netns, path: string, value: string): void {
  try {
    netns.sysctl.set(path, value);
  } catch (error) {
    if (!isNetlinkError(error, 'EROFS')) throw error;
    netns.run<void>(() => writeFileSync(`${mounted}/${path}`, value, { flag: 'r+' }));
  }
}
