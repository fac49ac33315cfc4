/**
 * Carries out a plan. When a step of an interface, or of the primary link, fails, what this run did for it is taken back and its later steps are left out;
 * the others go on. A bridge that fails takes the interfaces along that were to be put on it.
 */
import { type Step, undoOf } from '@podloom/network';
import { type DeleteLink, type Namespaces, applyStep, deleteLinks } from './step.ts';

export interface Outcome {
  /** By key of the interface. */
  readonly failed: ReadonlyMap<string, unknown>;
  /** Of steps that belong to no interface: removals and the primary link. */
  readonly errors: readonly unknown[];
  /** Names of links on the node that a step was about, so that a view of the node knows what to read again. */
  readonly touched: ReadonlySet<string>;
  readonly routingTouched: boolean;
}

/** What a step stands or falls with. */
export type Party = `key ${string}` | `bridge ${string}` | 'primary' | undefined;

export function applySteps(steps: readonly Step[], namespaces: Namespaces, run = applyStep): Outcome {
  const partyOf = parties(steps);
  const failures = new Map<Party, unknown>();
  const errors: unknown[] = [];
  const done: Step[] = [];
  const touched = new Set<string>();
  let routingTouched = false;

  const attempt = (step: Step): void => {
    note(step);
    run(step, namespaces);
  };
  function note(step: Step): void {
    if (step.in !== 'node') return;
    routingTouched ||= step.do.endsWith('Rule') || step.do.endsWith('Route');
    if ('link' in step && step.link !== undefined) touched.add(step.link);
    if ('name' in step) touched.add(step.name);
    if (step.do === 'setLink' && step.set.name !== undefined) touched.add(step.set.name);
  }
  /** False where one of them cannot go: each is then tried by itself, so that it does not keep the others. */
  function goTogether(leaving: readonly DeleteLink[]): boolean {
    leaving.forEach(note);
    try {
      deleteLinks(leaving, namespaces);
      return true;
    } catch {
      return false;
    }
  }
  function takeBack(party: Party): void {
    const theirs = done.filter((one) => partyOf(one) === party);
    for (const undo of theirs.toReversed().flatMap(undoOf)) {
      try {
        attempt(undo);
      } catch (error) {
        errors.push(error); // the next plan finds what is left, and mends it
      }
    }
  }

  const leaving = steps.filter(isLeaving);
  const haveLeft = leaving.length > 1 && goTogether(leaving);
  for (const step of steps) {
    if (haveLeft && isLeaving(step)) continue;
    const party = partyOf(step);
    if (party !== undefined && failures.has(party)) continue;
    const bridge = 'master' in step && step.master !== undefined ? (`bridge ${step.master}` as const) : undefined;
    try {
      if (bridge && failures.has(bridge)) throw failures.get(bridge);
      attempt(step);
      done.push(step);
    } catch (error) {
      if (party === undefined) errors.push(error);
      else {
        failures.set(party, error);
        takeBack(party);
      }
    }
  }

  const byKey = [...failures].flatMap(([party, error]) =>
    party?.startsWith('key ') ? [[party.slice(4), error] as const] : [],
  );
  const others = [...failures].flatMap(([party, error]) => (party?.startsWith('key ') ? [] : [error]));
  return { failed: new Map(byKey), errors: [...others, ...errors], touched, routingTouched };
}

/** Plans begin with them: what goes first is not in the way of what comes after. */
const isLeaving = (step: Step): step is DeleteLink => step.do === 'deleteLink' && step.in === 'node';

/** Each bridge has a table of its own; not every rule and route in it names the bridge. */
export function parties(steps: readonly Step[]): (step: Step) => Party {
  const bridges = new Map(
    steps.flatMap((step) => {
      const [device, table] = [deviceOf(step), tableOf(step)];
      return device !== undefined && table !== undefined ? [[table, device] as const] : [];
    }),
  );
  return (step) => {
    if (step.key !== undefined) return `key ${step.key}`;
    if (step.do === 'deleteLink') return undefined;
    if (step.in === 'pod') return 'primary';
    const device = deviceOf(step) ?? bridges.get(tableOf(step) ?? -1);
    return device === undefined ? undefined : `bridge ${device}`;
  };
}

const deviceOf = (step: Step): string | undefined =>
  'name' in step ? step.name : 'link' in step ? step.link : 'rule' in step ? step.rule.iif : undefined;

const tableOf = (step: Step): number | undefined =>
  'rule' in step ? step.rule.table : 'route' in step ? step.route.table : undefined;
