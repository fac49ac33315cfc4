/** The parts that there are. */
import { InvalidInput } from '@podloom/api';
import type { ModuleName } from '../binaries/modules.ts';
import type { ClusterPlan } from '../cluster/plan.ts';
import type { LeafRequest } from '../pki/x509.ts';
import type { Part, PartName } from './part.ts';
import { identity } from './identity.ts';
import { registry } from './registry.ts';
import { storage } from './storage.ts';

export const parts: Readonly<Record<PartName, Part>> = { storage, identity, registry };

export const partNames = Object.keys(parts) as readonly PartName[];

export function parsePartNames(texts: readonly string[]): PartName[] {
  return texts.map((text) => {
    const name = partNames.find((one) => one === text);
    if (!name) throw new InvalidInput('PART', `There is no part "${text}"; there are ${partNames.join(', ')}`);
    return name;
  });
}

export function modulesOf(names: readonly PartName[]): ModuleName[] {
  return names.flatMap((name) => parts[name].modules);
}

/** Of all parts, wanted or not: they cost nothing, and a part that comes later finds its own. */
export function partCertificates(plan: ClusterPlan): Record<string, LeafRequest> {
  return Object.assign({}, ...partNames.map((name) => parts[name].certificates(plan))) as Record<string, LeafRequest>;
}
