/** For tests: what two worlds have in common apart from indices and order, as a text that can be compared. */
import type { Observed, ObservedNamespace } from '../plan/observed.ts';

const lines = (entries: readonly unknown[]): string[] => entries.map((entry) => JSON.stringify(entry)).toSorted();

export const fingerprint = ({ node, pod }: Observed): string =>
  JSON.stringify([shapeOf(node), pod && shapeOf(pod)], undefined, 1);

function shapeOf(namespace: ObservedNamespace): unknown {
  const nameOf = new Map(namespace.links.map((link) => [link.index, link.name]));
  const named = (index: number | undefined): string | undefined =>
    index === undefined ? undefined : nameOf.get(index);
  return {
    links: lines(
      namespace.links.map((l) => [
        [l.name, l.kind, l.group, l.alias, l.mac, l.mtuBytes, l.txQueueLength, l.up, l.addrGenMode],
        [named(l.master), l.portFlags?.learning, l.portFlags?.flood],
      ]),
    ),
    addresses: lines(namespace.addresses.map(({ link, address }) => [named(link), address])),
    routes: lines(namespace.routes.map((r) => [named(r.link), r.to, r.table, r.metric, r.type, r.via, r.protocol])),
    rules: lines(namespace.rules.map((r) => [r.family, r.priority, r.table, r.from, r.iif, r.protocol])),
    filters: lines(namespace.filters.map((f) => [named(f.link), f.priority, f.handle, f.digest])),
    fdb: lines(namespace.fdb.map((entry) => [named(entry.link), entry.mac, entry.pinned])),
    sysctls: lines(namespace.sysctls.map(({ link, name, value }) => [link, name, value])),
  };
}
