/**
 * The node's namespace as the plan wants it: all of it is read once, and after that only what was touched, because a node has a thousand links and a
 * change concerns two of them. Whoever changes something, or hears from the kernel that someone did, says which link to read again.
 *
 * Filters and forwarding entries are read of our ports only, addresses of our bridges only, routes and rules only if ours.
 */
import {
  type Netns,
  type Filter,
  type Neighbour,
  isNetlinkError,
  neighbourFlags,
  neighbourStates,
} from '@podloom/netlink';
import {
  type ObservedAddress,
  type ObservedFdb,
  type ObservedFilter,
  type ObservedLink,
  type ObservedNamespace,
  type ObservedRoute,
  type Rule,
  isOurs,
  programDigest,
  routeProtocol,
} from '@podloom/network';
import type { Touched } from '../apply/run.ts';
import { observeLink } from './link.ts';
import { observeAddresses, observeRoutes } from './namespace.ts';

interface Entry {
  readonly link: ObservedLink;
  readonly addresses: readonly ObservedAddress[];
  readonly filters: readonly ObservedFilter[];
  readonly fdb: readonly ObservedFdb[];
}

interface Routing {
  readonly routes: readonly ObservedRoute[];
  readonly rules: readonly Rule[];
}

/** A link before and after. */
export interface LinkChange {
  readonly old: ObservedLink | undefined;
  readonly now: ObservedLink | undefined;
}

export interface NodeChanges {
  readonly links: readonly LinkChange[];
  /** Rules or routes of ours. */
  readonly routing: boolean;
}

export interface NodeView {
  /** The node as it is now. Reads everything that was touched first. */
  current(): ObservedNamespace;
  /** Something about this link may have changed. */
  touch(link: string | number): void;
  touchRouting(): void;
  /** Everything may have changed. */
  touchAll(): void;
  /** Our own steps changed this. Somebody else may have changed the same at that moment, so it is read and told again, too. */
  touchedBy(touched: Touched | undefined): void;
  /** Everything that differs from how it was when this was last asked. What cannot be read throws, and stays touched. */
  news(): NodeChanges;
}

export function nodeView(netns: Netns): NodeView {
  let entries = new Map<number, Entry>();
  let routing: Routing = { routes: [], rules: [] };
  /** As it was when `news` was last asked. */
  let told: { readonly entries: ReadonlyMap<number, Entry>; readonly routing: Routing } = { entries, routing };
  let snapshot: ObservedNamespace | undefined;
  let isAllTouched = true;
  let isRoutingTouched = true;
  /** By name or index. */
  const touched = new Set<string | number>();

  function refresh(): void {
    if (isAllTouched || isRoutingTouched || touched.size > 0) snapshot = undefined;
    if (isAllTouched) {
      entries = readAll(netns);
      isAllTouched = false;
      touched.clear();
    }
    for (const ref of touched) {
      refreshLink(ref);
      touched.delete(ref);
    }
    if (isRoutingTouched) {
      routing = readRouting(netns);
      isRoutingTouched = false;
    }
  }
  function refreshLink(ref: string | number): void {
    const before = typeof ref === 'number' ? ref : indexOf(ref);
    const now = read(netns, ref);
    if (before !== undefined && before !== now?.link.index) entries.delete(before);
    if (now) entries.set(now.link.index, now);
  }
  const indexOf = (name: string): number | undefined =>
    entries.values().find(({ link }) => link.name === name)?.link.index;

  return {
    current() {
      refresh();
      return (snapshot ??= namespaceOf([...entries.values()], routing));
    },
    touch: (link) => void touched.add(link),
    touchRouting() {
      isRoutingTouched = true;
    },
    touchAll() {
      isAllTouched = true;
      isRoutingTouched = true;
    },
    touchedBy(steps) {
      for (const link of steps?.links ?? []) touched.add(link);
      isRoutingTouched ||= steps?.routing ?? false;
    },
    news() {
      refresh();
      const before = told;
      told = { entries: new Map(entries), routing };
      return { links: changes(before.entries, entries), routing: !isSame(before.routing, routing) };
    },
  };
}

const namespaceOf = (entries: readonly Entry[], routing: Routing): ObservedNamespace => ({
  links: entries.map(({ link }) => link),
  addresses: entries.flatMap(({ addresses }) => addresses),
  filters: entries.flatMap(({ filters }) => filters),
  fdb: entries.flatMap(({ fdb }) => fdb),
  ...routing,
  sysctls: [],
});

function changes(before: ReadonlyMap<number, Entry>, after: ReadonlyMap<number, Entry>): LinkChange[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((index) => {
    const [old, now] = [before.get(index), after.get(index)];
    return isSame(old, now) ? [] : [{ old: old?.link, now: now?.link }];
  });
}

/** Most of a node was not read again, and is the very same object. */
const isSame = (old: object | undefined, now: object | undefined): boolean =>
  old === now || JSON.stringify(old) === JSON.stringify(now);

function read(netns: Netns, ref: string | number): Entry | undefined {
  try {
    const link = observeLink(netns, netns.link.outline(ref));
    return entryOf(link, {
      addresses: () => observeAddresses(netns.address.list({ link: link.index })),
      filters: () => filtersOf(netns, link.index),
      fdb: () => netns.fdb.list({ link: link.index }).flatMap(toObservedFdb),
    });
  } catch (error) {
    if (isNetlinkError(error, 'ENODEV')) return undefined;
    throw error;
  }
}

function readAll(netns: Netns): Map<number, Entry> {
  const links = netns.link.outlines().map((outline) => observeLink(netns, outline));
  const addresses = Map.groupBy(observeAddresses(netns.address.list()), ({ link }) => link);
  const fdb = Map.groupBy(netns.fdb.list().flatMap(toObservedFdb), ({ link }) => link);
  return new Map(
    links.map((link) => [
      link.index,
      entryOf(link, {
        addresses: () => addresses.get(link.index) ?? [],
        filters: () => filtersOf(netns, link.index),
        fdb: () => fdb.get(link.index) ?? [],
      }),
    ]),
  );
}

function entryOf(
  link: ObservedLink,
  read: {
    addresses(): readonly ObservedAddress[];
    filters(): readonly ObservedFilter[];
    fdb(): readonly ObservedFdb[];
  },
): Entry {
  const isPort = isOurs(link) && link.kind !== 'bridge';
  return {
    link,
    addresses: isOurs(link) ? read.addresses() : [],
    filters: isPort ? read.filters() : [],
    fdb: isPort ? read.fdb() : [],
  };
}

const filtersOf = (netns: Netns, link: number): ObservedFilter[] =>
  netns.filter.list({ link, parent: 'ingress' }).flatMap((filter) => toObservedFilter(link, filter));

function toObservedFilter(link: number, filter: Filter): ObservedFilter[] {
  const { priority, handle } = filter;
  if (handle === 0) return []; // not a filter but the head of its priority
  const kind = filter.kind ?? filter.otherKind;
  if (filter.kind !== 'bpf') return [{ link, priority, handle, kind }];
  const { program, directAction } = filter.data;
  // Without direct action the same program means something else.
  const digest = directAction ? programDigest(program) : undefined;
  return [{ link, priority, handle, kind, digest }];
}

/** Entries of the bridge that neither age nor are its own. */
function toObservedFdb({ index, lladdr, flags, state }: Neighbour): ObservedFdb[] {
  const isStatic = (state & neighbourStates.noarp) !== 0 && (state & neighbourStates.permanent) === 0;
  if (lladdr === undefined || !isStatic || (flags & neighbourFlags.self) !== 0) return [];
  return [{ link: index, mac: lladdr, pinned: (flags & neighbourFlags.sticky) !== 0 }];
}

function readRouting(netns: Netns): Routing {
  return {
    routes: observeRoutes(netns.route.list({ protocol: routeProtocol })),
    rules: netns.rule
      .list()
      .filter(({ protocol }) => protocol === routeProtocol)
      .map(({ family, priority, table, from, iif }) => ({
        family: family === 10 ? 6 : 4,
        priority,
        table,
        protocol: routeProtocol,
        from,
        iif,
      })),
  };
}
