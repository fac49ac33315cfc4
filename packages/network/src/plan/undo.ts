/** The steps that take a step back, for a change that failed half way. What made a link is undone by deleting the link, so the rest of its steps need nothing. */
import type { Step } from './step.ts';

export function undoOf(step: Step): readonly Step[] {
  const at = { in: step.in, key: step.key };
  switch (step.do) {
    case 'createBridge':
    case 'createVeth':
      return [{ do: 'deleteLink', ...at, link: step.name }];
    case 'setLink': {
      const { up: _, ...was } = step.was ?? {};
      if (Object.keys(was).length === 0) return [];
      return [{ do: 'setLink', ...at, link: step.set.name ?? step.link, set: was, was: step.set }];
    }
    case 'setPortFlags':
      return step.was ? [{ ...step, flags: step.was, was: step.flags }] : [];
    case 'setMaster':
    case 'addAddress':
    case 'removeAddress':
      return step.back ?? [];
    case 'addRoute':
      return [{ ...step, do: 'removeRoute' }];
    case 'removeRoute':
      return [{ ...step, do: 'addRoute' }];
    case 'addRule':
      return [{ ...step, do: 'removeRule' }];
    case 'removeRule':
      return [{ ...step, do: 'addRule' }];
    case 'addFdb':
      return [{ ...step, do: 'removeFdb' }];
    case 'removeFdb':
      return [{ ...step, do: 'addFdb' }];
    case 'setSysctl':
      return step.was === undefined ? [] : [{ ...step, value: step.was, was: step.value }];
    // What was there is not known: a program is replaced after all that may be refused.
    case 'setPortFilter':
    case 'deleteLink':
    default:
      return [];
  }
}
