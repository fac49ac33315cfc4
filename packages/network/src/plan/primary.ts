/**
 * The pod's primary link, which the cluster's CNI plugin made and keeps. We change only what was asked for, and only after what was
 * there has been written down: a change whose original value a crash could lose is a change that cannot be taken back.
 */
import { type PodNetworkSpec, type PrimaryLinkRecord, type PrimaryLinkState, sysctlsToGrant } from '@podloom/api';
import type { PrimaryPlan } from './desired.ts';
import type { Share } from './handover.ts';
import { isOurs } from './mark.ts';
import type { ObservedLink, ObservedNamespace } from './observed.ts';
import { untilGivenUp } from './problem.ts';
import { planRoutes, podRoute, routeTaken } from './routes.ts';
import type { LinkSettings, Step } from './step.ts';
import { isLinkLocal } from '../address.ts';
import { addressesOf, linkNamed } from './world.ts';

type Primary = NonNullable<PodNetworkSpec['primary']>;
/** A state as one flat list, so that all of it is recorded, compared and restored by the same lines. */
type Flat = ReadonlyMap<string, string | number>;

export interface PrimaryWish {
  readonly wanted: Primary | undefined;
  readonly record: PrimaryLinkRecord | undefined;
  /** Absent while the pod has no namespace. */
  readonly pod: ObservedNamespace | undefined;
  /** The pod without what its links give up. */
  readonly left: ObservedNamespace | undefined;
}

export interface PrimaryResult {
  readonly steps: readonly Step[];
  readonly plan: PrimaryPlan;
  readonly recordFirst: boolean;
}

/** The link that a record is of. Those that were written before links had names in them are of eth0. */
export const recordedLink = (record: PrimaryLinkRecord | undefined): string => record?.interfaceName ?? 'eth0';

/** What a status has on record: one that only tells what is wrong has nothing. */
export const recordIn = (primary: PrimaryLinkRecord | undefined): PrimaryLinkRecord | undefined =>
  primary?.interfaceName === undefined && primary?.before === undefined ? undefined : primary;

/** The routes that the recorded link, and the one that is asked for, are to have. */
export function primaryShares({ wanted, record, pod }: Omit<PrimaryWish, 'left'>): Share[] {
  const known = recordIn(record);
  const names = new Set([...(known ? [recordedLink(known)] : []), ...(wanted ? [wanted.interfaceName] : [])]);
  return [...names].flatMap((name) => {
    const link = linkNamed(pod, name);
    if (!link || isOurs(link)) return [];
    const routes = wanted?.interfaceName === name ? (wanted.routes ?? []).map(podRoute) : [];
    return [{ pod: link.index, routes }];
  });
}

/**
 * Composing lets no setting pass that needs a NetworkGrant and has none. The node has the last word all the same: an older operator knew of no grants.
 * Then nothing of what is asked for is done, and what was done before is taken back.
 */
export function planPrimary(wish: PrimaryWish): PrimaryResult | undefined {
  const { sysctls, grantedSysctls = [] } = wish.wanted ?? {};
  const denied = sysctlsToGrant(sysctls).filter((name) => !grantedSysctls.includes(name));
  if (denied.length === 0) return planWanted(wish);
  const restored = planWanted({ ...wish, wanted: undefined });
  const message = `The primary link can have ${denied.join(', ')} only by a NetworkGrant; ask an administrator, or take it out`;
  return {
    steps: restored?.steps ?? [],
    recordFirst: false,
    plan: { record: restored?.plan.record, state: 'Failed', reason: 'NotGranted', message },
  };
}

/** One link at a time: where another one is wanted than the recorded one, that one first gets back what it had. */
function planWanted({ wanted, record: known, pod, left = pod }: PrimaryWish): PrimaryResult | undefined {
  const record = recordIn(known);
  const old = recordedLink(record);
  const kept = record && recordOf(old, record.before);
  if (!pod) {
    const why = { reason: 'PodNotRunning', message: 'The pod has no namespace yet' };
    if (!wanted && !kept) return undefined;
    return { steps: [], recordFirst: false, plan: { record: kept, state: 'Pending', ...why } };
  }

  const isRecorded = wanted?.interfaceName === old;
  if (!isRecorded) {
    // A link that is gone took with it what could be restored.
    const link = linkNamed(pod, old);
    const restoring = link && planLink(link, { before: record?.before, isRecorded: true, pod, left });
    if (restoring && restoring.steps.length > 0) return restoring;
    if (!wanted) return undefined;
  }

  const failed = (reason: string, message: string): PrimaryResult => ({
    steps: [],
    recordFirst: false,
    plan: { record: isRecorded ? kept : undefined, state: 'Failed', reason, message },
  });
  const name = wanted.interfaceName;
  const link = linkNamed(pod, name);
  if (!link) {
    return failed('PrimaryLinkMissing', `The pod has no link ${name}; name its primary link in interfaceName`);
  }
  if (isOurs(link)) {
    return failed('NotPrimary', `Link ${name} was made by Podloom; change the object that asks for it`);
  }
  const unreadable = [...flat(wanted).keys()].find((field) => !settingsOf(link, pod).has(field));
  if (unreadable !== undefined) {
    const message = `Link ${name} has no setting ${unreadable} that can be read on this node; take it out`;
    return failed('SettingMissing', message);
  }
  const loss = ipv6Loss(wanted, link, pod);
  if (loss !== undefined) return failed('LosesIpv6', loss);
  return planLink(link, { wanted, before: isRecorded ? record?.before : undefined, isRecorded, pod, left });
}

const at = { in: 'pod', owner: 'primary' } as const;

interface LinkWish {
  readonly wanted?: Primary | undefined;
  readonly before: PrimaryLinkState | undefined;
  /** The record names this link: if it is changed now, someone will know which one to restore. */
  readonly isRecorded: boolean;
  readonly pod: ObservedNamespace;
  readonly left: ObservedNamespace | undefined;
}

function planLink(link: ObservedLink, { wanted, before, isRecorded, pod, left = pod }: LinkWish): PrimaryResult {
  const { name, index } = link;
  const routesIn = (namespace: ObservedNamespace) =>
    planRoutes({ ...at, link: name, index, wanted: (wanted?.routes ?? []).map(podRoute), namespace });
  const routes = routesIn(pod);
  const recorded = flat(before);
  const wishes = flat(wanted);
  const current = settingsOf(link, pod);

  const goal = new Map([...recorded, ...wishes]);
  const differing = new Map(
    [...goal].filter(([field, value]) => current.has(field) && !isSameSetting(current.get(field)!, value)),
  );
  const unrecorded = [...wishes.keys()].filter((field) => !recorded.has(field));
  // What is back at its old value and asked for by nobody needs no record any more. Before all is, a setting may be hidden by another.
  const kept = [...recorded].filter(([field]) => wishes.has(field) || differing.size > 0);
  const record = new Map([...kept, ...unrecorded.map((field) => [field, current.get(field)!] as const)]);

  const changes = [...routes.removals, ...settingSteps(name, differing, current), ...routes.additions([])];
  const plan = {
    record: recordOf(name, record.size === 0 ? undefined : nested(record)),
    ...(wishes.size === 0 ? {} : { applied: nested(wishes) }),
  };
  const [taken] = routes.taken;
  if (taken) {
    const isKept = routesIn(left).taken.length > 0;
    // A route of ours needs no record, only the link does.
    const steps = isRecorded && !isKept ? routes.removals : [];
    const problem = routeTaken(taken);
    const why = isKept
      ? { state: 'Failed' as const, ...problem }
      : { state: 'Pending' as const, ...untilGivenUp(problem) };
    return { steps, recordFirst: false, plan: { ...plan, ...why } };
  }
  const recordFirst = unrecorded.some((field) => differing.has(field)) || (!isRecorded && changes.length > 0);
  return {
    steps: recordFirst ? [] : changes,
    recordFirst,
    plan: { ...plan, state: changes.length === 0 ? 'Attached' : 'Pending' },
  };
}

const recordOf = (interfaceName: string, before: PrimaryLinkState | undefined): PrimaryLinkRecord => ({
  interfaceName,
  ...(before === undefined ? {} : { before }),
});

const settingsOf = ({ name, mtuBytes, txQueueLength }: ObservedLink, { sysctls }: ObservedNamespace): Flat =>
  new Map<string, string | number>([
    ['mtuBytes', mtuBytes],
    ...(txQueueLength === undefined ? [] : ([['txQueueLength', txQueueLength]] as const)),
    ...sysctls.flatMap((entry) => (entry.link === name ? ([[entry.name, entry.value]] as const) : [])),
  ]);

/** The kernel keeps the number, not its spelling: 02 is 2. */
export const isSameSetting = (a: string | number, b: string | number): boolean =>
  String(a) === String(b) || ([a, b].every((value) => /^\s*-?\d+\s*$/.test(String(value))) && Number(a) === Number(b));

/** The least that IPv6 needs (RFC 8200): a link with less has no IPv6, and the kernel does not give back the addresses and routes that it had. */
const leastIpv6Mtu = 1280;
const disableIpv6 = 'net.ipv6.conf.disable_ipv6';

function ipv6Loss({ mtuBytes, sysctls }: Primary, { name, index }: ObservedLink, pod: ObservedNamespace) {
  const address = addressesOf(pod, index).find((one) => one.includes(':') && !isLinkLocal(one));
  if (address === undefined) return undefined;
  const takes = `takes IPv6 off ${name}, which has ${address}`;
  if (mtuBytes !== undefined && mtuBytes < leastIpv6Mtu) {
    return `An MTU under ${leastIpv6Mtu} ${takes}; ask for ${leastIpv6Mtu} or more`;
  }
  return isSameSetting(sysctls?.[disableIpv6] ?? 0, 0) ? undefined : `${disableIpv6} ${takes}; take it out`;
}

/** Sysctls that must be read before planning: those asked for and those to be restored. */
export function sysctlsToObserve(
  { primary }: Pick<PodNetworkSpec, 'primary'>,
  record?: PrimaryLinkRecord,
): { readonly link: string; readonly name: string }[] {
  const asked = Object.keys(primary?.sysctls ?? {}).map((name) => ({ link: primary!.interfaceName, name }));
  const kept = Object.keys(record?.before?.sysctls ?? {}).map((name) => ({ link: recordedLink(record), name }));
  return [...new Map([...asked, ...kept].map((one) => [`${one.link} ${one.name}`, one])).values()];
}

function settingSteps(link: string, goal: Flat, current: Flat): Step[] {
  const number = (field: string): number | undefined => (goal.has(field) ? Number(goal.get(field)) : undefined);
  const [mtuBytes, txQueueLength] = [number('mtuBytes'), number('txQueueLength')];
  const set: LinkSettings = {
    ...(mtuBytes === undefined ? {} : { mtuBytes }),
    ...(txQueueLength === undefined ? {} : { txQueueLength }),
  };
  const was: LinkSettings = {
    ...(mtuBytes === undefined ? {} : { mtuBytes: Number(current.get('mtuBytes')) }),
    ...(txQueueLength === undefined ? {} : { txQueueLength: Number(current.get('txQueueLength')) }),
  };
  return [
    ...(Object.keys(set).length === 0 ? [] : [{ do: 'setLink', ...at, link, set, was } as const]),
    ...[...goal]
      .filter(([name]) => name.startsWith('net.'))
      .map(([name, value]): Step => ({
        do: 'setSysctl',
        in: 'pod',
        owner: 'primary',
        link,
        name,
        value: String(value),
        was: String(current.get(name)),
      })),
  ];
}

const flat = (state: PrimaryLinkState | undefined): Flat =>
  new Map<string, string | number>([
    ...(state?.mtuBytes === undefined ? [] : ([['mtuBytes', state.mtuBytes]] as const)),
    ...(state?.txQueueLength === undefined ? [] : ([['txQueueLength', state.txQueueLength]] as const)),
    ...Object.entries(state?.sysctls ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  ]);

function nested(state: Flat): PrimaryLinkState {
  const sysctls = [...state].filter(([name]) => name.startsWith('net.')).map(([name, value]) => [name, String(value)]);
  return {
    ...(state.has('mtuBytes') ? { mtuBytes: Number(state.get('mtuBytes')) } : {}),
    ...(state.has('txQueueLength') ? { txQueueLength: Number(state.get('txQueueLength')) } : {}),
    ...(sysctls.length === 0 ? {} : { sysctls: Object.fromEntries(sysctls) }),
  };
}
