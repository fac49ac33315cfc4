/** The bridges with a range that the objects of a namespace ask for, whoever gets them: a pool of any other network is of the past. */
import { type Sources, bridgeWishes, linkWishes } from './wishes.ts';

export interface DeclaredNetwork {
  readonly network: string;
  readonly cidr: string;
}

export function declaredNetworks(namespace: string, sources: Sources): DeclaredNetwork[] {
  const links = linkWishes(sources).filter(({ asker }) => asker.namespace === namespace);
  const bridges = bridgeWishes(sources).filter(({ asker }) => asker.namespace === namespace);
  return [
    ...links.flatMap(({ bridge, cidrs }) =>
      bridge === undefined ? [] : cidrs.map((cidr) => ({ network: bridge, cidr })),
    ),
    ...bridges.flatMap(({ name, cidrs }) => cidrs.map((cidr) => ({ network: name, cidr }))),
  ];
}
