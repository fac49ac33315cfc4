/** `ip link`: make, change, read and remove links of every kind. */
import type { InOf, OutOf } from '../codec/type.ts';
import type { Message } from '../codec/message.ts';
import { LITTLE, type Reader } from '../codec/writer.ts';
import { NLM_F_CREATE, NLM_F_ECHO, NLM_F_EXCL, request } from '../wire/request.ts';
import { unhurried, type Channel, type LinkRef } from './channel.ts';
import { linkKinds, type portKinds } from './kinds/kinds.ts';
import {
  briefLinkMessage,
  kinds,
  linkMessage,
  outlineMessage,
  type linkAttributes,
  type linkHeader,
} from './link-table.ts';
import { IFF_UP, RTM_DELLINK, RTM_DELLINKPROP, RTM_GETLINK, RTM_NEWLINK, RTM_NEWLINKPROP } from './numbers.ts';

type Tables = typeof linkKinds;
type Kind = keyof Tables;

/** Anything with a namespace's descriptor: an open `Netns`. */
export interface NetnsRef {
  readonly fd: number;
}

type Plain = Omit<
  InOf<typeof linkAttributes>,
  | 'master'
  | 'link'
  | 'linkinfo'
  | 'netnsFd'
  | 'netnsPid'
  | 'extMask'
  | 'stats'
  | 'altName'
  | 'propList'
  | 'unknown'
  | 'operstate'
>;

/** What every link has. */
export interface LinkSettings extends Plain {
  readonly index?: number | undefined;
  readonly up?: boolean | undefined;
  /** The bridge, bond or VRF that it belongs to; 0 takes it out. */
  readonly master?: LinkRef | undefined;
  /** The link below: parent of a VLAN, macvlan or ipvlan, underlay of a tunnel. */
  readonly link?: LinkRef | undefined;
  /** The namespace that it is made in, or moved to. */
  readonly netns?: NetnsRef | undefined;
}

type OfKind = { [K in Kind]: { readonly kind: K; readonly data?: InOf<Tables[K]> | undefined } }[Kind];

/**
 * The other end. It cannot be brought up while it is made (the kernel answers ENOTCONN), and its `index` is taken only if the link's own
 * is given, too.
 */
export type PeerSettings = Omit<LinkSettings, 'up'>;

interface Veth {
  readonly kind: 'veth';
  readonly peer?: PeerSettings | undefined;
}
export interface NetkitSettings {
  readonly primary?: boolean;
  readonly policy?: 'forward' | 'blackhole' | number;
  readonly peerPolicy?: 'forward' | 'blackhole' | number;
  readonly mode?: 'l2' | 'l3' | number;
  readonly scrub?: 'none' | 'default' | number;
  readonly peerScrub?: 'none' | 'default' | number;
  readonly headroom?: number;
  readonly tailroom?: number;
}
interface Netkit {
  readonly kind: 'netkit';
  readonly data?: NetkitSettings | undefined;
  readonly peer?: PeerSettings | undefined;
}

/** A link to make, typed by its kind. */
export type LinkAdd = LinkSettings & { readonly name: string } & (OfKind | Veth | Netkit);
/** A change; `kind` and `data` go together where settings of the kind change. */
export type LinkChange = LinkSettings & { readonly flags?: number; readonly change?: number } & (
    OfKind | Netkit | { readonly kind?: undefined; readonly data?: undefined }
  ) &
  PortChange;

/** Settings of the link as a member of its master; `portKind` is the master's kind. */
type PortChange =
  | { [K in PortKind]: { readonly portKind: K; readonly port: InOf<(typeof portKinds)[K]> } }[PortKind]
  | { readonly portKind?: undefined; readonly port?: undefined };
type PortKind = keyof typeof portKinds;

type Seen = OutOf<typeof linkHeader> & Omit<OutOf<typeof linkAttributes>, 'linkinfo' | 'propList' | 'name'>;
type SeenKind =
  | { [K in Kind]: { kind: K; data: OutOf<Tables[K]> } }[Kind]
  | { kind: 'veth'; data?: undefined }
  | { kind: 'netkit'; data: NetkitSettings }
  | { kind?: undefined; otherKind?: string; data?: Uint8Array };
type SeenPort =
  | { [K in PortKind]: { portKind: K; port: OutOf<(typeof portKinds)[K]> } }[PortKind]
  | { portKind?: undefined; port?: undefined };

/** A link as the kernel shows it. Kinds without a table here are `otherKind`, and hardware has neither. */
export type Link = Seen & { name: string; up: boolean; altNames?: string[] } & SeenKind & SeenPort;

/** What tells whose a link is, where it lies and how it is set. */
export interface LinkOutline {
  readonly index: number;
  readonly name: string;
  readonly kind: string | undefined;
  readonly flags: number;
  readonly up: boolean;
  readonly group: number;
  readonly alias: string | undefined;
  readonly address: string | undefined;
  readonly mtu: number;
  readonly txqlen: number | undefined;
  readonly master: number | undefined;
  /** The link below, or the other end, by its index there. */
  readonly link: number | undefined;
  /** IN6_ADDR_GEN_MODE_*. Not in what a monitor tells. */
  readonly addrGenMode: number | undefined;
  /** Where its master is a bridge. */
  readonly port: { readonly learning: boolean; readonly flood: boolean } | undefined;
}

const SKIP_STATS = 8;

const indexIn = (r: Reader, start: number): number => r.view.getInt32(start + 4, LITTLE);
/** To read the rest of the answer would take longer than to ask. */
const indexAnswer: Message<number, never> = { ...linkMessage, read: indexIn };

/** Kinds that hold the link below among their own settings; the rest has it in the link message. */
const tunnels = new Set(Object.entries(linkKinds).flatMap(([kind, { fields }]) => ('link' in fields ? [kind] : [])));

export function linkFamily(channel: Channel) {
  const indexOf = (ref: LinkRef): number =>
    typeof ref === 'number'
      ? ref
      : channel.get(request('link.get', RTM_GETLINK, 0, linkMessage, { name: ref, extMask: SKIP_STATS }), indexAnswer);

  /** The message for settings; a name given as `ref` is what the kernel looks for, and a new name would be `settings.name`. */
  function body(settings: LinkSettings): InOf<typeof linkHeader> & InOf<typeof linkAttributes> {
    const { kind, data, peer, portKind, port, up, master, link, netns, ...plain } = settings as LinkSettings & {
      kind?: string;
      data?: Record<string, unknown>;
      peer?: LinkSettings;
      portKind?: string;
      port?: object;
    };
    const out: Record<string, unknown> = plain;
    if (up !== undefined) {
      out['flags'] = ((out['flags'] as number | undefined) ?? 0) | (up ? IFF_UP : 0);
      out['change'] = ((out['change'] as number | undefined) ?? 0) | IFF_UP;
    }
    if (master !== undefined) out['master'] = indexOf(master);
    if (netns !== undefined) out['netnsFd'] = netns.fd;
    let inner: Record<string, unknown> | undefined = data;
    if (peer !== undefined) inner = { ...inner, peer: body(peer) };
    if (link !== undefined) {
      if (kind !== undefined && tunnels.has(kind)) inner = { ...inner, link: indexOf(link) };
      else out['link'] = indexOf(link);
    }
    if (kind !== undefined || portKind !== undefined) out['linkinfo'] = { kind, data: inner, portKind, port };
    return out;
  }

  function get(ref: LinkRef, options: { readonly details?: boolean } = {}): Link {
    const { extMask, answer } = amount(options.details);
    return toLink(channel.get(request('link.get', RTM_GETLINK, 0, linkMessage, { ...whichOf(ref), extMask }), answer));
  }

  const listRequest = (options: ListLinks) =>
    request('link.list', RTM_GETLINK, 0, linkMessage, {
      extMask: amount(options.details).extMask,
      master: options.master === undefined ? undefined : indexOf(options.master),
      linkinfo: options.kind === undefined ? undefined : { kind: options.kind },
    });

  return {
    /** Makes a link and returns its index; 0 in a batch or for another namespace, unless you chose the `index`. */
    add(link: LinkAdd): number {
      const known = link.index !== undefined || channel.collects;
      const flags = NLM_F_CREATE | NLM_F_EXCL | (known ? 0 : NLM_F_ECHO);
      const made = request('link.add', RTM_NEWLINK, flags, linkMessage, body(link));
      if (known) {
        channel.run(made);
        return link.index ?? 0;
      }
      const echoed = channel.runFor(made, (_, r, start) => indexIn(r, start));
      if (echoed !== 0 || link.netns !== undefined) return echoed;
      return indexOf(link.name); // vxlan and kernels before 6.2 do not echo
    },
    set(ref: LinkRef, change: LinkChange): void {
      const found = typeof ref === 'number' ? { index: ref } : nameOrIndex(ref, change);
      channel.run(request('link.set', RTM_NEWLINK, 0, linkMessage, { ...body(change), ...found }));
    },
    delete(ref: LinkRef): void {
      channel.run(request('link.delete', RTM_DELLINK, 0, linkMessage, whichOf(ref)));
    },
    /** Removes all links of a group at the price of one: the kernel waits for readers once, not once a link. */
    deleteGroup(group: number): void {
      channel.run(request('link.deleteGroup', RTM_DELLINK, 0, linkMessage, { group }));
    },
    get,
    list(options: ListLinks = {}): Link[] {
      return channel.dump(listRequest(options), amount(options.details).answer).map(toLink);
    },
    /** The same in pieces, for namespaces with very many links: other work may happen between two of them. */
    async *stream(options: ListLinks = {}): AsyncGenerator<Link[], void, void> {
      for await (const chunk of unhurried(channel.dumpChunks(listRequest(options), amount(options.details).answer))) {
        yield chunk.map(toLink);
      }
    },
    outline: (ref: LinkRef): LinkOutline =>
      toOutline(channel.get(request('link.get', RTM_GETLINK, 0, linkMessage, whichOf(ref)), outlineMessage)),
    outlines: (): LinkOutline[] =>
      channel.dump(request('link.list', RTM_GETLINK, 0, linkMessage, { extMask: 0 }), outlineMessage).map(toOutline),
    addAltNames(ref: LinkRef, altNames: readonly string[]): void {
      const change = { index: indexOf(ref), propList: { altNames } };
      const flags = NLM_F_CREATE | NLM_F_EXCL;
      channel.run(request('link.addAltNames', RTM_NEWLINKPROP, flags, linkMessage, change));
    },
    deleteAltNames(ref: LinkRef, altNames: readonly string[]): void {
      const change = { index: indexOf(ref), propList: { altNames } };
      channel.run(request('link.deleteAltNames', RTM_DELLINKPROP, 0, linkMessage, change));
    },
    indexOf,
  };

  /** A message has one place for a name: to rename by name, the index must be asked for. */
  function nameOrIndex(ref: string, change: LinkChange): { name: string } | { index: number } {
    return change.name === undefined ? { name: ref } : { index: indexOf(ref) };
  }
}

export interface ListLinks {
  readonly master?: LinkRef;
  readonly kind?: string;
  /** With `stats`, `afSpec`, `xdp` and a bridge port's spanning tree: three quarters of the bytes, so only when asked for. */
  readonly details?: boolean;
}

function amount(details: boolean | undefined) {
  return details === true ? { extMask: 0, answer: linkMessage } : { extMask: SKIP_STATS, answer: briefLinkMessage };
}

const whichOf = (ref: LinkRef) => (typeof ref === 'number' ? { index: ref } : { name: ref });

export function toOutline(seen: ReturnType<typeof outlineMessage.read>): LinkOutline {
  const { index, flags, name = '', group = 0, alias, address, mtu = 0, txqlen, master, link, linkinfo, afSpec } = seen;
  const port = linkinfo?.portKind === 'bridge' ? (linkinfo.port as OutOf<typeof portKinds.bridge>) : undefined;
  return {
    index,
    name,
    kind: linkinfo?.kind,
    flags,
    up: (flags & IFF_UP) !== 0,
    group,
    alias,
    address,
    mtu,
    txqlen,
    master,
    link,
    addrGenMode: afSpec?.inet6?.addrGenMode,
    port: port && { learning: port.learning ?? true, flood: port.flood ?? true },
  };
}

/** Changes the decoded value in place: a copy of so many properties costs more than decoding them. */
export function toLink(seen: OutOf<typeof linkHeader> & OutOf<typeof linkAttributes>): Link {
  const out = seen as Record<string, unknown>;
  const { linkinfo, propList } = seen;
  out['up'] = (seen.flags & IFF_UP) !== 0;
  if (propList !== undefined) {
    out['propList'] = undefined;
    out['altNames'] = propList.altNames;
  }
  if (linkinfo !== undefined) {
    out['linkinfo'] = undefined;
    const { kind, data, portKind, port } = linkinfo;
    if (kind !== undefined) out[Object.hasOwn(kinds, kind) ? 'kind' : 'otherKind'] = kind;
    if (data !== undefined) out['data'] = data;
    if (portKind !== undefined && !(port instanceof Uint8Array)) {
      out['portKind'] = portKind;
      out['port'] = port;
    }
  }
  return out as unknown as Link;
}
