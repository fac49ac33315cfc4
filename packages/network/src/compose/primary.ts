/** Changes to the primary link from several objects. Who wants what an older one wants otherwise is left out as a whole. */
import type { PodNetworkSpec } from '@podloom/api';
import type { ComposeConflict } from './composed.ts';
import { type PrimaryWish, byAge } from './wishes.ts';

type Primary = NonNullable<PodNetworkSpec['primary']>;

export interface ComposedPrimary {
  readonly primary: Primary | undefined;
  readonly conflicts: readonly ComposeConflict[];
}

/** One value a name, so that two wishes can be compared name by name. */
function valuesOf({
  interfaceName,
  mtuBytes,
  txQueueLength,
  sysctls,
  routes,
}: PrimaryWish['primary']): Map<string, string> {
  return new Map([
    ['interface', interfaceName],
    ...(mtuBytes === undefined ? [] : [['MTU', String(mtuBytes)] as const]),
    ...(txQueueLength === undefined ? [] : [['transmit queue length', String(txQueueLength)] as const]),
    ...Object.entries(sysctls ?? {}),
    ...(routes ?? []).map(({ to, metric, via }) => [`route ${to} metric ${metric ?? 0}`, via ?? 'direct'] as const),
  ]);
}

export function composePrimary(wishes: readonly PrimaryWish[]): ComposedPrimary {
  const taken = new Map<string, { readonly value: string; readonly wish: PrimaryWish }>();
  const conflicts: ComposeConflict[] = [];
  const accepted: PrimaryWish[] = [];
  for (const wish of wishes.toSorted(byAge)) {
    const values = valuesOf(wish.primary);
    const clash = [...values].find(([name, value]) => taken.has(name) && taken.get(name)?.value !== value);
    if (clash) {
      const [name, value] = clash;
      const rival = taken.get(name)!;
      const winner = rival.wish.asker.ref;
      const message = `The primary link has ${name} ${rival.value} from ${winner.kind} ${winner.name}, not ${value}`;
      conflicts.push({ loser: wish.asker.ref, winner, reason: 'PrimaryConflict', message });
      continue;
    }
    for (const [name, value] of values) if (!taken.has(name)) taken.set(name, { value, wish });
    accepted.push(wish);
  }
  const [first] = accepted;
  if (!first) return { primary: undefined, conflicts };
  const pick = (name: 'mtuBytes' | 'txQueueLength'): Partial<Primary> => {
    const value = accepted.find(({ primary }) => primary[name] !== undefined)?.primary[name];
    return value === undefined ? {} : { [name]: value };
  };
  const sysctls = Object.entries(
    Object.assign({}, ...accepted.map(({ primary }) => primary.sysctls)) as Record<string, string>,
  );
  const routes = new Map(
    accepted
      .flatMap(({ primary }) => primary.routes ?? [])
      .map((route) => [JSON.stringify([route.to, route.via, route.metric]), route]),
  );
  return {
    conflicts,
    primary: {
      interfaceName: first.primary.interfaceName,
      ...pick('mtuBytes'),
      ...pick('txQueueLength'),
      ...(sysctls.length === 0
        ? {}
        : { sysctls: Object.fromEntries(sysctls.toSorted(([a], [b]) => (a < b ? -1 : 1))) }),
      ...(routes.size === 0 ? {} : { routes: [...routes.values()] }),
      sources: accepted.map(({ asker }) => asker.ref),
    },
  };
}
