/** The steps that take a step back, for a change that failed half way. What made a link is undone by deleting the link, so the rest of its steps need nothing. */
import type { Step } from './step.ts';

const opposite = {
  addRoute: 'removeRoute',
  removeRoute: 'addRoute',
  addRule: 'removeRule',
  removeRule: 'addRule',
  addFdb: 'removeFdb',
  removeFdb: 'addFdb',
} as const;

export function undoOf(step: Step): readonly Step[] {
  switch (step.do) {
    case 'createLink':
      return [{ do: 'deleteLink', in: step.in, owner: step.owner, link: step.name }];
    case 'setLink': {
      const { up: _, ...was } = step.was ?? {};
      return Object.keys(was).length === 0
        ? []
        : [{ ...step, link: step.set.name ?? step.link, set: was, was: step.set }];
    }
    case 'setPortFlags':
      return step.was ? [{ ...step, flags: step.was, was: step.flags }] : [];
    case 'setSysctl':
      return step.was === undefined ? [] : [{ ...step, value: step.was, was: step.value }];
    case 'setMaster':
    case 'addAddress':
    case 'removeAddress':
      return step.back ?? [];
    // What was there is not known: a program is replaced after all that may be refused.
    case 'setPortFilter':
    case 'deleteLink':
      return [];
    case 'addRoute':
    case 'removeRoute':
    case 'addRule':
    case 'removeRule':
    case 'addFdb':
    case 'removeFdb':
    default:
      return [{ ...step, do: opposite[step.do] } as Step];
  }
}
