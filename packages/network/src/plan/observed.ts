/**
 * What is there, as plain data. The agent fills it from the kernel, tests and `podloom plan` from wherever they like. Only what
 * a plan looks at is named, so that a node with a thousand links stays small in memory.
 */

/** A network namespace that steps happen in: the node's, the pod's, or the home of one network. */
export type Place = 'node' | 'pod' | `home/${string}`;

/** Settings of one kind of link, by the names that netlink has for them: `{ mode: 'bridge' }` of a macvlan. */
export type LinkData = Readonly<Record<string, string | number | boolean>>;

export interface ObservedLink {
  readonly index: number;
  readonly name: string;
  /** IFLA_INFO_KIND; absent for devices that have none, such as lo. */
  readonly kind?: string | undefined;
  /** IFLA_GROUP; 0 is the kernel's default. */
  readonly group: number;
  /** IFLA_IFALIAS. */
  readonly alias?: string | undefined;
  /** Lower case, with colons. */
  readonly mac?: string | undefined;
  readonly mtuBytes: number;
  readonly txQueueLength?: number | undefined;
  /** IFF_UP: what was asked for, not whether there is a carrier. */
  readonly up: boolean;
  /** Index of the bridge that the link is a port of. */
  readonly master?: number | undefined;
  /** IFLA_LINK: for a veth, the index that its peer has in the peer's own namespace. */
  readonly peerIndex?: number | undefined;
  /** IFLA_INET6_ADDR_GEN_MODE in IFLA_AF_SPEC. */
  readonly addrGenMode?: AddrGenMode | undefined;
  /** IFLA_INFO_SLAVE_DATA, where the link is a bridge port. */
  readonly portFlags?: PortFlags | undefined;
  /** IFLA_INFO_DATA of links of ours that we asked for settings of their kind. */
  readonly data?: LinkData | undefined;
}

export type AddrGenMode = 'eui64' | 'none' | 'stable-privacy' | 'random';

export interface PortFlags {
  /** IFLA_BRPORT_LEARNING */
  readonly learning: boolean;
  /** IFLA_BRPORT_UNICAST_FLOOD */
  readonly flood: boolean;
}

export interface ObservedAddress {
  /** Index of the link. */
  readonly link: number;
  /** Canonical, with prefix length: 192.168.100.2/24. */
  readonly address: string;
}

export interface Route {
  /** Canonical range, 0.0.0.0/0 and ::/0 for the defaults. */
  readonly to: string;
  readonly type: 'unicast' | 'unreachable';
  readonly table: number;
  /** RTA_PRIORITY. IPv4 has 0 where none was given, IPv6 1024. */
  readonly metric: number;
  /** rtm_protocol: who made it. Ours have `routeProtocol`. */
  readonly protocol: number;
  readonly via?: string | undefined;
}

/** A route that no single-next-hop form fits (multipath, nexthop object) is left out, or shown without link and via: it is never ours. */
export interface ObservedRoute extends Route {
  /** RTA_OIF */
  readonly link?: number | undefined;
}

export interface Rule {
  readonly family: 4 | 6;
  readonly priority: number;
  readonly table: number;
  /** FRA_PROTOCOL: who made it. Ours have `routeProtocol`. */
  readonly protocol: number;
  /** With prefix length: 192.168.100.1/32. */
  readonly from?: string | undefined;
  /** FRA_IIFNAME */
  readonly iif?: string | undefined;
}

/** A tc filter at the clsact ingress of a link. */
export interface ObservedFilter {
  readonly link: number;
  readonly priority: number;
  readonly handle: number;
  /** TCA_KIND */
  readonly kind: string;
  /** `programDigest` of TCA_BPF_OPS. */
  readonly digest?: string | undefined;
}

/** A forwarding entry of a bridge (NTF_MASTER). Learned and local (`permanent`) ones need not be here. */
export interface ObservedFdb {
  /** Index of the port. */
  readonly link: number;
  readonly mac: string;
  /** NUD_NOARP and NTF_STICKY: neither ages nor moves to another port. */
  readonly pinned: boolean;
}

export interface ObservedSysctl {
  /** Name of the link. */
  readonly link: string;
  /** Name without the interface, as a PodNetwork has it: net.ipv4.conf.rp_filter. */
  readonly name: string;
  readonly value: string;
}

export interface ObservedNamespace {
  readonly links: readonly ObservedLink[];
  readonly addresses: readonly ObservedAddress[];
  /** Of a pod the main table where it asks for routes, else only ours; of the node only tables of ours are looked at (`isOurTable`), so others may be left out. */
  readonly routes: readonly ObservedRoute[];
  readonly rules: readonly Rule[];
  /** Of our links only; others may be left out. */
  readonly filters: readonly ObservedFilter[];
  readonly fdb: readonly ObservedFdb[];
  /** Those that `sysctlsToObserve` names. */
  readonly sysctls: readonly ObservedSysctl[];
}

/** By place. */
export interface Observed {
  readonly node: ObservedNamespace;
  /** Absent while the pod has no namespace: not started yet, or gone. */
  readonly pod?: ObservedNamespace | undefined;
  readonly [home: `home/${string}`]: ObservedNamespace | undefined;
}

export const emptyNamespace: ObservedNamespace = {
  links: [],
  addresses: [],
  routes: [],
  rules: [],
  filters: [],
  fdb: [],
  sysctls: [],
};
