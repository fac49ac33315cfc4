/**
 * Device names of bridges. A node has one list of names for all tenants: the oldest namespace to name a bridge has the plain name,
 * others get a hashed one. FNV is collided easily on purpose, so a hashed name that is taken gives way to the next.
 */
import { hashText } from '../hash.ts';
import { bridgeOf } from './bridges.ts';
import type { Settled } from './settle.ts';

export interface BridgeNaming {
  readonly namespace: string;
  readonly bridge: string;
  /** creationTimestamp of the namespace's oldest object that names the bridge. */
  readonly since: string;
  /** Device that it has already, as recorded in PodNetworks: a bridge in use keeps its name when an older rival goes. */
  readonly device?: string | undefined;
}

/** The bridges that objects of the namespace name, and may have. */
export function bridgeNamings({ namespace, objects, refusals }: Settled): BridgeNaming[] {
  const namings: BridgeNaming[] = [];
  for (const { links = [], bridges = [] } of objects.values()) {
    for (const request of [...links, ...bridges]) {
      const bridge = bridgeOf(request);
      if (bridge !== undefined && !refusals.has(request)) {
        namings.push({ namespace, bridge, since: request.source.since });
      }
    }
  }
  return namings;
}

export const namingKey = (namespace: string, bridge: string): string => `${namespace}/${bridge}`;

/** One for each bridge: since when it is named, and the device that it has. Who names many can keep this. */
export function uniqueNamings(namings: readonly BridgeNaming[]): BridgeNaming[] {
  const unique = new Map<string, BridgeNaming>();
  for (const naming of namings) {
    const key = namingKey(naming.namespace, naming.bridge);
    const known = unique.get(key);
    const older = !known || compare(naming.since, known.since) < 0 ? naming : known;
    unique.set(key, { ...older, device: smaller(known?.device, naming.device) });
  }
  return [...unique.values()];
}

/** By `namingKey`. Independent of the order of the namings. */
export function bridgeDevices(namings: readonly BridgeNaming[]): Map<string, string> {
  const byAge = uniqueNamings(namings).toSorted(
    (a, b) => compare(a.since, b.since) || compare(a.namespace, b.namespace) || compare(a.bridge, b.bridge),
  );
  const devices = new Map<string, string>();
  const taken = new Set<string>();
  const assign = ({ namespace, bridge }: BridgeNaming, device: string): void => {
    devices.set(namingKey(namespace, bridge), device);
    taken.add(device);
  };
  for (const naming of byAge)
    if (naming.device !== undefined && !taken.has(naming.device)) assign(naming, naming.device);
  for (const naming of byAge) {
    const key = namingKey(naming.namespace, naming.bridge);
    if (devices.has(key)) continue;
    let device = naming.bridge;
    for (let attempt = 0; taken.has(device); attempt += 1) device = `br${hashText(`${key} ${attempt}`).slice(0, 12)}`;
    assign(naming, device);
  }
  return devices;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const smaller = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b < a) ? b : a;
