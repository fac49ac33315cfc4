/** For tests: what two worlds have in common apart from indices, random MACs and order. */
import type { Observed, ObservedNamespace } from '@podloom/network';

const sorted = (entries: readonly unknown[]): string[] => entries.map((entry) => JSON.stringify(entry)).toSorted();

export const fingerprintOf = ({ node, pod }: Observed): unknown => [shapeOf(node), pod && shapeOf(pod)];

function shapeOf({ links, addresses, routes, rules, filters, fdb }: ObservedNamespace): unknown {
  const ours = links.filter(({ group }) => group !== 0);
  const nameOf = new Map(links.map(({ index, name }) => [index, name]));
  const named = (index: number | undefined): string | undefined => (index === undefined ? '' : nameOf.get(index));
  return {
    foreign: sorted(
      links.filter(({ group }) => group === 0).map(({ name, kind, mtuBytes, up }) => [name, kind, mtuBytes, up]),
    ),
    links: sorted(ours.map((link) => [{ ...link, index: 0, peerIndex: 0, master: named(link.master) }])),
    addresses: sorted(
      addresses.filter(({ address }) => !address.startsWith('fe80')).map(({ link, address }) => [named(link), address]),
    ),
    // The kernel's own come and go with the state of the link.
    routes: sorted(routes.filter(({ protocol }) => protocol !== 2).map(({ link, ...rest }) => [named(link), rest])),
    rules: sorted(rules),
    filters: sorted(filters.map(({ link, ...rest }) => [named(link), rest])),
    fdb: sorted(fdb.map(({ link, ...rest }) => [named(link), rest])),
  };
}
