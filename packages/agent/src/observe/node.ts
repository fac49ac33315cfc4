/**
 * The node's namespace as the plan wants it, kept up to date instead of read again: a node has a thousand links, and a change concerns two of
 * them. Whoever changes something, or hears from the kernel that someone did, says which link to read again; `current` does so.
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
import { toObservedLink } from './link.ts';
import { observeRoutes, toObservedAddress } from './namespace.ts';

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
  /** As it is now, as far as anyone told. */
  current(): ObservedNamespace;
  /** Something about this link may have changed. */
  touch(link: string | number): void;
  touchRouting(): void;
  /** Everything may have changed. */
  touchAll(): void;
  /** Steps of our own were about this. It is news as well: meanwhile someone else may have changed the same, and only another look can tell. */
  touchedBy(steps: Touched): void;
  /** Reads what was touched, and tells what is otherwise than when this was last asked. */
  news(): NodeChanges;
}

/** What steps were about. */
export interface Touched {
  readonly touched: Iterable<string>;
  readonly routingTouched: boolean;
}

export function nodeView(netns: Netns): NodeView {
  let entries = new Map<number, Entry>();
  let routing: Routing = { routes: [], rules: [] };
  let snapshot: ObservedNamespace | undefined;
  let isAllTouched = true;
  let isRoutingTouched = true;
  const touched = new Set<string | number>();
  /** Seen by someone who asked how things are, and not told yet. */
  let untold: NodeChanges = { links: [], routing: false };

  function refreshLinks(): LinkChange[] {
    const before = isAllTouched ? entries : new Map<number, Entry>();
    const after = isAllTouched ? readAll(netns) : new Map<number, Entry>();
    if (isAllTouched) entries = after;
    else for (const ref of touched) refreshLink(ref, before, after);
    isAllTouched = false;
    touched.clear();
    return changes(before, after);
  }
  function refreshLink(ref: string | number, before: Map<number, Entry>, after: Map<number, Entry>): void {
    const index = typeof ref === 'number' ? ref : indexOf(ref);
    const old = entries.get(index);
    const now = read(netns, ref);
    // One link may be touched by name and by index: how it was is how it was the first time.
    if (old && !before.has(index) && !after.has(index)) before.set(index, old);
    if (old && now?.link.index !== index) entries.delete(index);
    if (!now) return;
    after.set(now.link.index, now);
    entries.set(now.link.index, now);
  }
  function refreshRouting(): boolean {
    const before = JSON.stringify(routing);
    routing = readRouting(netns);
    isRoutingTouched = false;
    return JSON.stringify(routing) !== before;
  }
  function refresh(): NodeChanges {
    const links = isAllTouched || touched.size > 0 ? refreshLinks() : [];
    const isOther = isRoutingTouched && refreshRouting();
    if (links.length > 0 || isOther) snapshot = undefined;
    return { links, routing: isOther };
  }
  const indexOf = (name: string): number =>
    [...entries.values()].find(({ link }) => link.name === name)?.link.index ?? -1;

  function gather(): void {
    const { links, routing } = refresh();
    if (links.length > 0 || routing)
      untold = { links: [...untold.links, ...links], routing: untold.routing || routing };
  }

  return {
    touchedBy(steps) {
      for (const link of steps.touched) touched.add(link);
      isRoutingTouched ||= steps.routingTouched;
    },
    news() {
      gather();
      const told = untold;
      untold = { links: [], routing: false };
      return told;
    },
    current() {
      gather();
      const all = [...entries.values()];
      snapshot ??= {
        links: all.map(({ link }) => link),
        addresses: all.flatMap(({ addresses }) => addresses),
        filters: all.flatMap(({ filters }) => filters),
        fdb: all.flatMap(({ fdb }) => fdb),
        ...routing,
        sysctls: [],
      };
      return snapshot;
    },
    touch: (link) => void touched.add(link),
    touchRouting() {
      isRoutingTouched = true;
    },
    touchAll() {
      isAllTouched = true;
      isRoutingTouched = true;
    },
  };
}

function changes(before: ReadonlyMap<number, Entry>, after: ReadonlyMap<number, Entry>): LinkChange[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((index) => {
    const [old, now] = [before.get(index), after.get(index)];
    return JSON.stringify(old) !== JSON.stringify(now) ? [{ old: old?.link, now: now?.link }] : [];
  });
}

function read(netns: Netns, ref: string | number): Entry | undefined {
  try {
    const link = toObservedLink(netns.link.get(ref, { details: true }));
    return entryOf(link, {
      addresses: () => netns.address.list({ link: link.index }).map(toObservedAddress),
      filters: () => filtersOf(netns, link.index),
      fdb: () => netns.fdb.list({ link: link.index }).flatMap(toObservedFdb),
    });
  } catch (error) {
    if (isNetlinkError(error, 'ENODEV')) return undefined;
    throw error;
  }
}

function readAll(netns: Netns): Map<number, Entry> {
  const links = netns.link.list({ details: true }).map(toObservedLink);
  const addresses = Map.groupBy(netns.address.list().map(toObservedAddress), ({ link }) => link);
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
  const digest = directAction ? programDigest(program.map(({ code, jt, jf, k }) => [code, jt, jf, k])) : undefined;
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
