/**
 * One change to the kernel, as plain data. A step says all that its netlink message needs, can be repeated without harm, and
 * names links by their name, because the index of a link that an earlier step makes is not known when planning.
 */
import type { AddrGenMode, LinkData, Place, PortFlags, Route, Rule } from './observed.ts';

/** Code, jump if true, jump if false, operand: a `struct sock_filter`. */
export type Instruction = readonly [code: number, jt: number, jf: number, k: number];

export interface LinkSettings {
  readonly name?: string;
  readonly group?: number;
  readonly alias?: string;
  readonly mac?: string;
  readonly mtuBytes?: number;
  readonly txQueueLength?: number;
  /** Never in one step with `up`: the kernel would bring the link up first and make an fe80:: address before it reads this. */
  readonly addrGenMode?: AddrGenMode;
  /** Nothing of ours is ever taken down while it is in use. */
  readonly up?: true;
}

/**
 * Whom a step serves. Where one fails, those before it that serve the same are taken back, and those after it left out. Nobody: something of ours goes that
 * nobody asks for any more.
 */
export type Owner = `interface ${string}` | `bridge ${string}` | 'primary' | 'nobody';

/** Of an interface of the PodNetwork, by its key. */
export const interfaceOwner = (key: string): Owner => `interface ${key}`;
/** By its device. */
export const bridgeOwner = (device: string): Owner => `bridge ${device}`;

/** Key of the interface that is served. */
export const interfaceOf = (owner: Owner): string | undefined =>
  owner.startsWith('interface ') ? owner.slice('interface '.length) : undefined;

interface Common {
  readonly in: Place;
  readonly owner: Owner;
}

/** A step with which the kernel takes other things along. */
interface WithBack extends Common {
  /** Puts back what was there, all of it and in order. Absent where nothing was. */
  readonly back?: readonly Step[] | undefined;
}

/** How a link, or an end of one, is born. */
interface Birth {
  readonly name: string;
  readonly mac?: string | undefined;
  readonly mtuBytes?: number | undefined;
  /** Of transmit and of receive queues, each; left out, the kernel decides. */
  readonly queues?: number | undefined;
}

/**
 * One RTM_NEWLINK, all or nothing. What is born is down. An EEXIST is an error: it was planned because there was none. The kernel ignores an alias here, so
 * the owner is written by another step.
 */
export interface CreateLink extends Common, Birth {
  readonly do: 'createLink';
  /** IFLA_INFO_KIND */
  readonly kind: string;
  /** Also of the peer. */
  readonly group: number;
  /** Settings of the kind. */
  readonly data?: LinkData | undefined;
  /** The link below: parent of a VLAN or macvlan, underlay of a tunnel. */
  readonly from?: { readonly in: Place; readonly link: string } | undefined;
  /** The other end. */
  readonly peer?: (Birth & { readonly in: Place }) | undefined;
  /** The bridge that it is born a port of. */
  readonly master?: string | undefined;
}

export interface SetLink extends Common {
  readonly do: 'setLink';
  /** Name that it has now. */
  readonly link: string;
  readonly set: LinkSettings;
  /** What was there, for people and for undoing. */
  readonly was?: LinkSettings | undefined;
}

/** The kernel drops the forwarding entries of the port and resets its flags. */
export interface SetMaster extends WithBack {
  readonly do: 'setMaster';
  readonly link: string;
  readonly master: string;
}

export interface SetPortFlags extends Common {
  readonly do: 'setPortFlags';
  readonly link: string;
  readonly flags: PortFlags;
  readonly was?: PortFlags | undefined;
}

/** Makes the clsact qdisc where there is none, then creates or replaces exactly this filter (protocol all, direct action). */
export interface SetPortFilter extends Common {
  readonly do: 'setPortFilter';
  readonly link: string;
  readonly priority: number;
  readonly handle: number;
  readonly program: readonly Instruction[];
}

/** RTM_NEWNEIGH AF_BRIDGE: NTF_MASTER and NTF_STICKY, NUD_NOARP|NUD_REACHABLE, create or replace. Removing: NTF_MASTER, ENOENT is fine. */
export interface ChangeFdb extends Common {
  readonly do: 'addFdb' | 'removeFdb';
  readonly link: string;
  readonly mac: string;
}

/** Create or replace. */
export interface AddAddress extends WithBack {
  readonly do: 'addAddress';
  readonly link: string;
  readonly address: string;
  readonly broadcast?: string | undefined;
  /** IFA_F_NODAD: always for IPv6. */
  readonly noDad: boolean;
  /** IFA_F_NOPREFIXROUTE: keeps the main table as it is. */
  readonly noPrefixRoute: boolean;
  /** Refused where something in this place reaches the address over another link: an address of the node is the node's for everyone on it. */
  readonly mustBeFree?: true | undefined;
}

/** EADDRNOTAVAIL is fine. */
export interface RemoveAddress extends WithBack {
  readonly do: 'removeAddress';
  readonly link: string;
  readonly address: string;
}

/** Adding is exclusive: an EEXIST of a route that is not ours is an error; of our own, fine. Removing: ESRCH is fine. */
export interface ChangeRoute extends Common {
  readonly do: 'addRoute' | 'removeRoute';
  /** Absent for unreachable. */
  readonly link?: string | undefined;
  readonly route: Route;
}

/** Adding: EEXIST is fine. Removing: ENOENT is fine. */
export interface ChangeRule extends Common {
  readonly do: 'addRule' | 'removeRule';
  readonly rule: Rule;
}

/** /proc/sys/net/ipv4/conf/LINK/rp_filter for the name net.ipv4.conf.rp_filter. */
export interface SetSysctl extends Common {
  readonly do: 'setSysctl';
  readonly link: string;
  readonly name: string;
  readonly value: string;
  readonly was?: string | undefined;
}

/** By index, so that a foreign link which took the name meanwhile stays. ENODEV is fine. */
export interface DeleteLink extends Common {
  readonly do: 'deleteLink';
  readonly link: string;
  /** Absent only when undoing a step that made the link. */
  readonly index?: number | undefined;
}

export type Step =
  | CreateLink
  | SetLink
  | SetMaster
  | SetPortFlags
  | SetPortFilter
  | ChangeFdb
  | AddAddress
  | RemoveAddress
  | ChangeRoute
  | ChangeRule
  | SetSysctl
  | DeleteLink;
