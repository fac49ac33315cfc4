/**
 * Who stands or falls together: where one takes in a plan what another gives up in it, neither can be taken back alone, because both would have it then.
 * Links that are deleted give up what they had for good.
 */
import { placeOf } from './routes.ts';
import type { Step } from './step.ts';

/** Of each party all that stand or fall with it, itself among them. */
export function standTogether<Party>(
  steps: readonly Step[],
  partyOf: (step: Step) => Party,
): (party: Party) => ReadonlySet<Party> {
  const groups = new Map<Party, ReadonlySet<Party>>();
  const groupOf = (party: Party): ReadonlySet<Party> => groups.get(party) ?? new Set([party]);
  for (const [thing, changes] of Map.groupBy(steps, thingOf)) {
    const isHandedOn = new Set(changes.map((step) => step.do)).size > 1;
    if (thing === undefined || !isHandedOn) continue;
    const group = new Set(changes.flatMap((step) => groupOf(partyOf(step)).values().toArray()));
    for (const party of group) groups.set(party, group);
  }
  return groupOf;
}

/** What only one of a pod has at a time. Bridges, whose steps have no key, hand nothing on to interfaces. */
function thingOf(step: Step): string | undefined {
  if (step.in === 'node' && step.key === undefined) return undefined;
  if ('address' in step) return `address ${step.address.split('/')[0]}`;
  if ('route' in step) return `route ${placeOf(step.route)}`;
  return step.do === 'addFdb' || step.do === 'removeFdb' ? `MAC ${step.mac}` : undefined;
}
