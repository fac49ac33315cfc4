/** `tc filter`: what happens to packets on their way in or out of a link. */
import type { Channel, LinkRef } from '../route/channel.ts';
import { RTM_NEWTFILTER, RTM_DELTFILTER, RTM_GETTFILTER } from '../route/numbers.ts';
import { NLM_F_CREATE, NLM_F_EXCL, request } from '../wire/request.ts';
import { LITTLE } from '../codec/writer.ts';
import {
  filterFromWire,
  filterTables,
  filterToWire,
  type FilterDataByKind,
  type FilterSettingsByKind,
} from './filter-kinds.ts';
import { formatHandle, parseHandle, tcMessage, type Handle } from './message.ts';

export const filterMessage = tcMessage('filter', filterTables);
/** What a filter matches stays bytes: that can be a long program. */
export const filterOutlineMessage = tcMessage('filter', {});

/** Frames of which ethertype a filter sees; any other as its number. */
const protocols = { all: 3, ip: 0x0800, arp: 0x0806, '802.1Q': 0x8100, ipv6: 0x86dd, '802.1ad': 0x88a8 } as const;
const protocolNames = new Map<number, keyof typeof protocols>(
  Object.entries(protocols).map(([name, value]) => [value, name as keyof typeof protocols]),
);
export type FilterProtocol = keyof typeof protocols | number;

export interface FilterPlace {
  readonly link: LinkRef;
  /** `ingress` or `egress` of clsact, or a qdisc such as `1:`. */
  readonly parent: Handle;
  /** Lower ones come first. Of one priority all filters have one kind and one protocol. */
  readonly priority: number;
  readonly protocol?: FilterProtocol | undefined;
  readonly handle?: number | undefined;
  readonly chain?: number | undefined;
}
type Kind = keyof FilterSettingsByKind;
type Data<K extends Kind> =
  Partial<FilterSettingsByKind[K]> extends FilterSettingsByKind[K]
    ? { readonly kind: K; readonly data?: FilterSettingsByKind[K] | undefined }
    : { readonly kind: K; readonly data: FilterSettingsByKind[K] };
export type FilterSettings = FilterPlace & { [K in Kind]: Data<K> }[Kind];

interface Placed {
  index: number;
  parent: string;
  priority: number;
  protocol: FilterProtocol;
  handle: number;
  chain: number;
}

/** Where a filter is, but not what it matches. */
export type FilterOutline = Placed & { kind: string };

/**
 * A filter as the kernel shows it. With `handle` 0 it is not a filter but the head of a priority; u32 also shows its hash tables,
 * which have a `divisor`.
 */
export type Filter = Placed &
  ({ [K in Kind]: { kind: K; data: FilterDataByKind[K] } }[Kind] | { kind?: undefined; otherKind: string });

export function filterFamily(channel: Channel, indexOf: (ref: LinkRef) => number) {
  const placeOf = ({ link, parent, priority, protocol, handle, chain }: FilterPlace) => ({
    index: indexOf(link),
    parent: parseHandle(parent),
    info: priority * 0x1_0000 + swapped(typeof protocol === 'string' ? protocols[protocol] : (protocol ?? 0)),
    handle,
    chain,
  });
  const change = (verb: string, flags: number, settings: FilterSettings): void => {
    const { kind, data, protocol = 'all' } = settings;
    const options = filterToWire(kind, data ?? {}, indexOf);
    const body = { ...placeOf({ ...settings, protocol }), kind, options };
    channel.run(request(`filter.${verb}`, RTM_NEWTFILTER, flags, filterMessage, body));
  };
  return {
    /** A protocol that is not given is `all`. */
    add: (settings: FilterSettings): void => change('add', NLM_F_CREATE | NLM_F_EXCL, settings),
    /** Makes it, or exchanges the one of that priority and handle at once, so that no packet is unfiltered. */
    replace: (settings: FilterSettings): void => change('replace', NLM_F_CREATE, settings),
    /** Removes one filter; without a handle, all of that priority. */
    delete(settings: FilterPlace & { readonly kind?: Kind }): void {
      const body = { ...placeOf(settings), kind: settings.kind };
      channel.run(request('filter.delete', RTM_DELTFILTER, 0, filterMessage, body));
    },
    /** Of one parent. None where there is no such parent. */
    list(options: { readonly link: LinkRef; readonly parent: Handle }): Filter[] {
      const filter = { index: indexOf(options.link), parent: parseHandle(options.parent) };
      return channel
        .dump(request('filter.list', RTM_GETTFILTER, 0, filterMessage, filter), filterMessage)
        .map(toFilter);
    },
  };
}
/** The ethertype is in network order inside a number of the host. */
const swapped = (value: number): number => (LITTLE ? ((value & 0xff) << 8) | (value >>> 8) : value);

type Seen = ReturnType<typeof filterMessage.read>;

function placed({ index, parent, info, handle, chain = 0 }: Seen): Placed {
  const protocol = swapped(info & 0xffff);
  return {
    index,
    parent: formatHandle(parent),
    priority: info >>> 16,
    protocol: protocolNames.get(protocol) ?? protocol,
    handle,
    chain,
  };
}

export const toFilterOutline = (seen: Seen): FilterOutline => ({ ...placed(seen), kind: seen.kind ?? '' });

export function toFilter(seen: Seen): Filter {
  const { kind = '', options } = seen;
  const place = placed(seen);
  if (!Object.hasOwn(filterTables, kind)) return { ...place, otherKind: kind };
  const data = options === undefined || options instanceof Uint8Array ? {} : options;
  return { ...place, kind, data: filterFromWire(kind as Kind, data) } as Filter;
}
