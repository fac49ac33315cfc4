/** The door to a namespace: its sockets, and the verbs of `ip(8)` on them. */
import { controller } from './generic/controller.ts';
import { ethtoolFamily, type Ethtool } from './generic/ethtool.ts';
import { seg6Family, type Seg6 } from './generic/seg6.ts';
import { wireguardFamily, type Wireguard } from './generic/wireguard.ts';
import { close as closeFd } from './libc.ts';
import { nftFamily, type Nft } from './netfilter/nft.ts';
import { inNetns, openNetns, type NetnsSource } from './netns.ts';
import { addressFamily } from './route/address.ts';
import { vlanFamily } from './route/bridge-vlan.ts';
import { batchChannel, directChannel, type Channel } from './route/channel.ts';
import { linkFamily } from './route/link.ts';
import { fdbFamily, neighbourFamily } from './route/neighbour.ts';
import { netconfFamily } from './route/netconf.ts';
import { netnsidFamily } from './route/netnsid.ts';
import { nexthopFamily } from './route/nexthop.ts';
import { routeFamily } from './route/route.ts';
import { ruleFamily } from './route/rule.ts';
import { statsFamily } from './route/stats.ts';
import { sysctlIn, type Sysctl } from './sysctl.ts';
import { filterFamily } from './tc/filter.ts';
import { classFamily, qdiscFamily } from './tc/qdisc.ts';
import { tuntapIn, type Tuntap } from './tuntap.ts';
import { openSocket, Socket, type Protocol } from './wire/socket.ts';

/** Everything that goes over the route socket. Made for a channel, so that the same verbs serve direct and batched use. */
function routeFamilies(channel: Channel) {
  const link = linkFamily(channel);
  const { indexOf } = link;
  return {
    link,
    address: addressFamily(channel, indexOf),
    route: routeFamily(channel, indexOf),
    nexthop: nexthopFamily(channel, indexOf),
    rule: ruleFamily(channel),
    neighbour: neighbourFamily(channel, indexOf),
    fdb: fdbFamily(channel, indexOf),
    /** The VLAN table of bridges: `bridge vlan`. */
    vlan: vlanFamily(channel, indexOf),
    stats: statsFamily(channel, indexOf),
    qdisc: qdiscFamily(channel, indexOf),
    class: classFamily(channel, indexOf),
    filter: filterFamily(channel, indexOf),
    netconf: netconfFamily(channel, indexOf),
    netnsid: netnsidFamily(channel),
  };
}
/** Everything that goes over the generic socket. */
function genericFamilies(channel: Channel) {
  const family = controller(channel);
  return {
    ethtool: ethtoolFamily(channel, family),
    wireguard: wireguardFamily(channel, family),
    seg6: seg6Family(channel, family),
  };
}
export type Families = ReturnType<typeof routeFamilies>;

export interface Netns extends Families, Disposable {
  /** Descriptor of the namespace; for `netns:` of a link that moves here. */
  readonly fd: number;
  /** How it was found. */
  readonly source: NetnsSource;
  readonly nft: Nft;
  readonly ethtool: Ethtool;
  readonly wireguard: Wireguard;
  /** `ip sr`. */
  readonly seg6: Seg6;
  readonly sysctl: Sysctl;
  readonly tuntap: Tuntap;
  /**
   * Collects changes and sends them together: one system call for many. The kernel carries out all of them in order, also after
   * one that failed; the first error is thrown. A question inside (`get`, `list`, a link by name) sends what waits first.
   */
  batch(work: (families: Families) => void): void;
  /** Runs synchronous code inside: what it opens (sockets, files of /proc/sys/net) belongs to this namespace. */
  run<T>(work: () => T extends Promise<unknown> ? never : T): T;
  close(): void;
}

/** Opens a namespace; `open()` is the process's own. Close it, or bind it with `using`. */
export function open(source: NetnsSource = { own: true }): Netns {
  const fd = openNetns(source, netnsidOfFd);
  return namespaceOf(fd, source);
}

function namespaceOf(fd: number, source: NetnsSource): Netns {
  const sockets = new Map<Protocol, Socket>();
  const socket = (protocol: Protocol): Socket => {
    let found = sockets.get(protocol);
    if (found === undefined) {
      found = new Socket(() => inNetns(fd, () => openSocket(protocol)));
      sockets.set(protocol, found);
    }
    return found;
  };
  const close = (): void => {
    for (const one of sockets.values()) one.close();
    sockets.clear();
    closeFd(fd);
  };
  const run: Netns['run'] = (work) => inNetns(fd, work);
  return {
    fd,
    source,
    sysctl: sysctlIn(run),
    tuntap: tuntapIn(run),
    ...routeFamilies(directChannel(socket('route'))),
    nft: nftFamily(socket('netfilter')),
    ...genericFamilies(directChannel(socket('generic'))),
    batch(work) {
      const channel = batchChannel(socket('route'));
      work(routeFamilies(channel));
      channel.flush();
    },
    run,
    close,
    [Symbol.dispose]: close,
  };
}

function netnsidOfFd(fd: number): number | undefined {
  using own = open();
  return own.netnsid.get({ fd });
}
