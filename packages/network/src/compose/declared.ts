/** The bridges with a range that the objects of a namespace ask for, whoever gets them: a pool of any other network is of the past. */
import { bridgeOf } from './bridges.ts';
import type { Settled } from './settle.ts';

export interface DeclaredNetwork {
  readonly network: string;
  readonly cidr: string;
}

export function declaredNetworks({ objects }: Settled): DeclaredNetwork[] {
  const all = [...objects.values()];
  const requests = [...all.flatMap(({ links = [] }) => links), ...all.flatMap(({ bridges = [] }) => bridges)];
  return requests.flatMap((request) => {
    const network = bridgeOf(request);
    return network === undefined ? [] : request.cidrs.map((cidr) => ({ network, cidr }));
  });
}
