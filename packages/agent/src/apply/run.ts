/**
 * Carries out a plan. When a step of an interface, or of the primary link, fails, what this run did for it is taken back and its later steps are left out;
 * the others go on. A bridge that fails takes the interfaces along that were to be put on it.
 */
import { type Owner, type Place, type Step, interfaceOf, undoOf } from '@podloom/network';
import { type DeleteLink, type Namespaces, applyStep, deleteLinks } from './step.ts';

/** What steps were about, so that a view of the place knows what to read again. */
export interface Touched {
  /** Names of links. */
  readonly links: ReadonlySet<string>;
  /** Rules and routes. */
  readonly routing: boolean;
}

export interface Outcome {
  /** By key of the interface. */
  readonly failed: ReadonlyMap<string, unknown>;
  /** Of steps that belong to no interface: removals, bridges and the primary link. */
  readonly errors: readonly unknown[];
  readonly touched: ReadonlyMap<Place, Touched>;
}

export function applySteps(steps: readonly Step[], namespaces: Namespaces, run = applyStep): Outcome {
  const failures = new Map<Owner, unknown>();
  const errors: unknown[] = [];
  const done: Step[] = [];
  const touched = new Map<Place, { readonly links: Set<string>; routing: boolean }>();

  const attempt = (step: Step): void => {
    note(step);
    run(step, namespaces);
  };
  function note(step: Step): void {
    const here = touched.get(step.in) ?? { links: new Set(), routing: false };
    touched.set(step.in, here);
    here.routing ||= 'rule' in step || 'route' in step;
    if ('link' in step && step.link !== undefined) here.links.add(step.link);
    if (step.do === 'createLink') here.links.add(step.name);
    if (step.do === 'setLink' && step.set.name !== undefined) here.links.add(step.set.name);
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
  function takeBack(owner: Owner): void {
    const theirs = done.filter((one) => one.owner === owner);
    for (const undo of theirs.toReversed().flatMap(undoOf)) {
      try {
        attempt(undo);
      } catch (error) {
        errors.push(error); // the next plan finds what is left, and mends it
      }
    }
  }

  const leaving = Map.groupBy(steps.filter(isLeaving), (step) => step.in);
  const left = new Set<Step>(
    [...leaving.values()].flatMap((some) => (some.length > 1 && goTogether(some) ? some : [])),
  );
  for (const step of steps) {
    if (left.has(step) || failures.has(step.owner)) continue;
    const bridge = 'master' in step && step.master !== undefined ? (`bridge ${step.master}` as const) : undefined;
    try {
      if (bridge && failures.has(bridge)) throw failures.get(bridge);
      attempt(step);
      done.push(step);
    } catch (error) {
      if (step.owner === 'nobody') errors.push(error);
      else {
        failures.set(step.owner, error);
        takeBack(step.owner);
      }
    }
  }

  const failed = new Map<string, unknown>();
  for (const [owner, error] of failures) {
    const key = interfaceOf(owner);
    if (key === undefined) errors.unshift(error);
    else failed.set(key, error);
  }
  return { failed, errors, touched };
}

/** Plans begin with them: what goes first is not in the way of what comes after. */
const isLeaving = (step: Step): step is DeleteLink => step.do === 'deleteLink';
