/** Changes to the primary link from several objects. Who wants what an older one wants otherwise is left out as a whole. */
import { type PodNetworkSpec, podNetworkRoom, sysctlsToGrant } from '@podloom/api';
import { canonicalRoute, routePlace } from '../route.ts';
import type { PrimaryRequest } from '../source/source.ts';
import type { ComposeConflict, ComposedPrimary } from './composed.ts';

type Primary = NonNullable<PodNetworkSpec['primary']>;

/** One value a name, so that two requests can be compared name by name. */
function valuesOf({
  interfaceName,
  mtuBytes,
  txQueueLength,
  sysctls,
  routes,
}: PrimaryRequest['primary']): Map<string, string> {
  return new Map([
    ['interface', interfaceName],
    ...(mtuBytes === undefined ? [] : [['MTU', String(mtuBytes)] as const]),
    ...(txQueueLength === undefined ? [] : [['transmit queue length', String(txQueueLength)] as const]),
    ...Object.entries(sysctls ?? {}),
    ...(routes ?? []).map((route) => [`route to ${routePlace(route)}`, canonicalRoute(route).via ?? 'direct'] as const),
  ]);
}

/** Why a request cannot be had beside the older ones. It is then left out as a whole. */
export function primaryRivalry(request: PrimaryRequest, older: readonly PrimaryRequest[]): ComposeConflict | undefined {
  const wanted = valuesOf(request.primary);
  for (const rival of older) {
    const clash = valuesOf(rival.primary)
      .entries()
      .find(([name, value]) => wanted.has(name) && wanted.get(name) !== value);
    if (!clash) continue;
    const [name, value] = clash;
    const winner = rival.source.ref;
    const message = `The primary link has ${name} ${value} from ${winner.kind} ${winner.name}, not ${wanted.get(name)}`;
    return { loser: request.source.ref, winner, reason: 'PrimaryConflict', message };
  }
  return undefined;
}

/** Why a request has no place beside the older ones, although it contradicts none of them. */
export function primaryCrowding(
  request: PrimaryRequest,
  older: readonly PrimaryRequest[],
): ComposeConflict | undefined {
  const last = older.at(-1);
  const merged = mergePrimaries([...older, request]);
  if (!last || !merged) return undefined;
  const { sources, sysctls = {}, routes = [] } = merged;
  const full = [
    ['objects', sources.length, podNetworkRoom.primarySources] as const,
    ['settings', Object.keys(sysctls).length, podNetworkRoom.sysctls] as const,
    ['routes', routes.length, podNetworkRoom.routes] as const,
  ].find(([, count, most]) => count > most);
  if (!full) return undefined;
  const [what, , most] = full;
  const message = `The primary link has room for ${most} ${what}, and older ones up to ${last.source.ref.kind} ${last.source.ref.name} leave too little of it`;
  return { loser: request.source.ref, winner: last.source.ref, reason: 'PrimaryConflict', message };
}

/** Requests that may not be had are out already, so what needs a grant has one. */
export function mergePrimaries(accepted: readonly PrimaryRequest[]): ComposedPrimary | undefined {
  const [first] = accepted;
  if (!first) return undefined;
  const pick = (name: 'mtuBytes' | 'txQueueLength'): Partial<Primary> => {
    const value = accepted.find(({ primary }) => primary[name] !== undefined)?.primary[name];
    return value === undefined ? {} : { [name]: value };
  };
  const sysctls = Object.entries(
    Object.assign({}, ...accepted.map(({ primary }) => primary.sysctls)) as Record<string, string>,
  );
  const granted = sysctlsToGrant(Object.fromEntries(sysctls)).toSorted();
  const routes = new Map(
    accepted.flatMap(({ primary }) => primary.routes ?? []).map((route) => [routePlace(route), route]),
  );
  return {
    interfaceName: first.primary.interfaceName,
    ...pick('mtuBytes'),
    ...pick('txQueueLength'),
    ...(sysctls.length === 0 ? {} : { sysctls: Object.fromEntries(sysctls.toSorted(([a], [b]) => (a < b ? -1 : 1))) }),
    ...(granted.length === 0 ? {} : { grantedSysctls: granted }),
    ...(routes.size === 0 ? {} : { routes: [...routes.values()] }),
    sources: accepted.map(({ source }) => source.ref),
  };
}
