/**
 * The pod's primary link, which the cluster's CNI plugin made and keeps. We change only what was asked for, and only after what was
 * there has been written down: a change whose original value a crash could lose is a change that cannot be taken back.
 */
import type { PodNetworkSpec, PrimaryLinkState } from '@podloom/api';
import type { PrimaryPlan } from './desired.ts';
import type { ObservedNamespace } from './observed.ts';
import { planRoutes, podRoute } from './routes.ts';
import type { LinkSettings, Step } from './step.ts';
import { linkNamed } from './world.ts';

type Primary = NonNullable<PodNetworkSpec['primary']>;
/** A state as one flat list, so that all of it is recorded, compared and restored by the same lines. */
type Flat = ReadonlyMap<string, string | number>;

export interface PrimaryWish {
  readonly wanted: Primary | undefined;
  readonly before: PrimaryLinkState | undefined;
  readonly pod: ObservedNamespace;
}

export interface PrimaryResult {
  readonly steps: readonly Step[];
  readonly plan: PrimaryPlan;
  readonly recordFirst: boolean;
}

const defaultName = 'eth0';

export function planPrimary({ wanted, before, pod }: PrimaryWish): PrimaryResult | undefined {
  const name = wanted?.interfaceName ?? defaultName;
  const link = linkNamed(pod, name);
  const routes =
    link &&
    planRoutes({
      in: 'pod',
      link: name,
      index: link.index,
      wanted: (wanted?.routes ?? []).map(podRoute),
      namespace: pod,
    });
  const recorded = flat(before);
  const wishes = flat(wanted);
  if (!wanted && recorded.size === 0 && !routes?.steps.length) return undefined;
  if (!link) {
    const message = `The pod has no link ${name}; name its primary link in interfaceName`;
    return { steps: [], recordFirst: false, plan: { before, state: 'Failed', reason: 'PrimaryLinkMissing', message } };
  }

  const current = new Map<string, string | number>([
    ['mtuBytes', link.mtuBytes],
    ...(link.txQueueLength === undefined ? [] : ([['txQueueLength', link.txQueueLength]] as const)),
    ...pod.sysctls.flatMap((entry) => (entry.link === name ? ([[entry.name, entry.value]] as const) : [])),
  ]);
  const unreadable = [...wishes.keys()].find((field) => !current.has(field));
  if (unreadable !== undefined) {
    const message = `Link ${name} has no setting ${unreadable} on this node; take it out`;
    return { steps: [], recordFirst: false, plan: { before, state: 'Failed', reason: 'SettingMissing', message } };
  }

  const unrecorded = [...wishes.keys()].filter((field) => !recorded.has(field));
  // What is back at its old value and asked for by nobody needs no record any more.
  const kept = [...recorded].filter(([field, value]) => wishes.has(field) || current.get(field) !== value);
  const record = new Map([...kept, ...unrecorded.map((field) => [field, current.get(field)!] as const)]);

  const goal = new Map([...recorded, ...wishes]);
  const differing = new Map([...goal].filter(([field, value]) => current.has(field) && current.get(field) !== value));
  const recordFirst = unrecorded.some((field) => differing.has(field));
  const steps = recordFirst ? [] : [...settingSteps(name, differing, current), ...(routes?.steps ?? [])];
  const taken = routes?.taken[0];
  return {
    steps,
    recordFirst,
    plan: {
      ...(record.size === 0 ? {} : { before: nested(record) }),
      ...(wishes.size === 0 ? {} : { applied: nested(wishes) }),
      ...(taken === undefined
        ? { state: steps.length === 0 && !recordFirst ? 'Attached' : 'Pending' }
        : {
            state: 'Failed',
            reason: 'RouteTaken',
            message: `The pod has another route to ${taken.to} with metric ${taken.metric}`,
          }),
    },
  };
}

/** Sysctls that must be read before planning: those asked for and those to be restored. */
export function sysctlsToObserve(
  spec: Pick<PodNetworkSpec, 'primary'>,
  before?: PrimaryLinkState,
): { readonly link: string; readonly name: string }[] {
  const names = new Set([...Object.keys(spec.primary?.sysctls ?? {}), ...Object.keys(before?.sysctls ?? {})]);
  return [...names].map((name) => ({ link: spec.primary?.interfaceName ?? defaultName, name }));
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
    ...(Object.keys(set).length === 0 ? [] : [{ do: 'setLink', in: 'pod', link, set, was } as const]),
    ...[...goal]
      .filter(([name]) => name.startsWith('net.'))
      .map(([name, value]): Step => ({
        do: 'setSysctl',
        in: 'pod',
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
