/**
 * One change to the kernel, as plain data. A step says all that its netlink message needs, can be repeated without harm, and
 * names links by their name, because the index of a link that an earlier step makes is not known when planning.
 */
import type { AddrGenMode, PortFlags, Route, Rule, Where } from './observed.ts';

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

interface Common {
  readonly in: Where;
  /** Interface of the PodNetwork that it is for: when it fails, the interface's later steps are left out. Absent for bridges and the primary link. */
  readonly key?: string | undefined;
}

/** A step with which the kernel takes other things along. */
interface WithBack extends Common {
  /** Puts back what was there, all of it and in order. Absent where nothing was. */
  readonly back?: readonly Step[] | undefined;
}

/** RTM_NEWLINK with IFLA_BR_MCAST_SNOOPING 0, IFLA_BR_STP_STATE 0, IFLA_BR_FORWARD_DELAY 0. An EEXIST is an error: it was planned because there was none. */
export interface CreateBridge extends Common {
  readonly do: 'createBridge';
  readonly in: 'node';
  readonly name: string;
  readonly mac: string;
  readonly group: number;
}

/** One RTM_NEWLINK: the peer is born in the pod's namespace, the node end is born as a port of its bridge, both down and with one queue. */
export interface CreateVeth extends Common {
  readonly do: 'createVeth';
  readonly in: 'node';
  readonly name: string;
  readonly mac: string;
  readonly mtuBytes: number;
  readonly group: number;
  readonly master?: string | undefined;
  /** `group` for the peer, too. */
  readonly peer: { readonly name: string; readonly mac: string; readonly mtuBytes: number };
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
  readonly in: 'node';
  readonly link: string;
  readonly master: string;
}

export interface SetPortFlags extends Common {
  readonly do: 'setPortFlags';
  readonly in: 'node';
  readonly link: string;
  readonly flags: PortFlags;
  readonly was?: PortFlags | undefined;
}

/** Makes the clsact qdisc where there is none, then creates or replaces exactly this filter (protocol all, direct action). */
export interface SetPortFilter extends Common {
  readonly do: 'setPortFilter';
  readonly in: 'node';
  readonly link: string;
  readonly priority: number;
  readonly handle: number;
  readonly program: readonly Instruction[];
}

/** RTM_NEWNEIGH AF_BRIDGE: NTF_MASTER and NTF_STICKY, NUD_NOARP|NUD_REACHABLE, create or replace. Removing: NTF_MASTER, ENOENT is fine. */
export interface ChangeFdb extends Common {
  readonly do: 'addFdb' | 'removeFdb';
  readonly in: 'node';
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
  readonly in: 'node';
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
  | CreateBridge
  | CreateVeth
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
