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
  prepare,
  programDigest,
  routeProtocol,
} from '@podloom/network';
import { toObservedLink } from './link.ts';
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
  /** As it is now, as far as anyone told. Links that do not matter to who asks may be as they were when someone last asked. */
  current(matters?: (link: string) => boolean): ObservedNamespace;
  /** Something about this link may have changed. Its name, where it is at hand, tells to whom it matters. */
  touch(link: string | number, name?: string): void;
  touchRouting(): void;
  /** Everything may have changed. */
  touchAll(): void;
  /** Steps of our own were about this. It is news as well: meanwhile someone else may have changed the same, and only another look can tell. */
  touchedBy(steps: Touched): void;
  /** Reads what was touched, and tells what is otherwise than when this was last asked. What cannot be read throws and stays touched. */
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
  /** By name or index; with the name that we heard, if any. */
  const touched = new Map<string | number, string | undefined>();
  /** Seen by someone who asked how things are, and not told yet. */
  let untold: NodeChanges = { links: [], routing: false };

  function refreshLinks(matters?: (link: string) => boolean): void {
    const before = isAllTouched ? entries : new Map<number, Entry>();
    const after = isAllTouched ? readAll(netns) : new Map<number, Entry>();
    if (isAllTouched) {
      entries = after;
      touched.clear();
    }
    isAllTouched = false;
    try {
      for (const [ref, heard] of touched) {
        const name = typeof ref === 'string' ? ref : (entries.get(ref)?.link.name ?? heard);
        if (matters && name !== undefined && !matters(name)) continue;
        if (typeof ref === 'string' || !after.has(ref)) refreshLink(ref, before, after);
        touched.delete(ref);
      }
    } finally {
      // What was read is news also where the next could not be, which stays touched.
      note({ links: changes(before, after), routing: false });
    }
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
  function refreshRouting(): void {
    const before = JSON.stringify(routing);
    routing = readRouting(netns);
    isRoutingTouched = false;
    note({ links: [], routing: JSON.stringify(routing) !== before });
  }
  function note({ links, routing }: NodeChanges): void {
    if (links.length === 0 && !routing) return;
    snapshot = undefined;
    untold = { links: [...untold.links, ...links], routing: untold.routing || routing };
  }
  const whole = (): ObservedNamespace => (snapshot ??= namespaceOf([...entries.values()], routing));
  function refresh(matters?: (link: string) => boolean): void {
    if (isAllTouched || touched.size > 0) refreshLinks(matters);
    if (isRoutingTouched) refreshRouting();
  }
  const indexOf = (name: string): number => entries.values().find(({ link }) => link.name === name)?.link.index ?? -1;

  return {
    touchedBy(steps) {
      for (const link of steps.touched) touched.set(link, undefined);
      isRoutingTouched ||= steps.routingTouched;
    },
    news() {
      refresh();
      const told = untold;
      untold = { links: [], routing: false };
      prepare(whole()); // now, when there is time: who asks next is likely a pod that waits
      return told;
    },
    current(matters) {
      refresh(matters);
      return whole();
    },
    touch: (link, name) => void touched.set(link, name ?? touched.get(link)),
    touchRouting() {
      isRoutingTouched = true;
    },
    touchAll() {
      isAllTouched = true;
      isRoutingTouched = true;
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
    return JSON.stringify(old) !== JSON.stringify(now) ? [{ old: old?.link, now: now?.link }] : [];
  });
}

function read(netns: Netns, ref: string | number): Entry | undefined {
  try {
    const link = toObservedLink(netns.link.outline(ref));
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
  const links = netns.link.outlines().map(toObservedLink);
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
