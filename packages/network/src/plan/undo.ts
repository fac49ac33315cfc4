/** The step that takes a step back, for an attachment that failed half way. What made a link is undone by deleting the link, so the rest of its steps need nothing. */
import type { Step } from './step.ts';

export function undoOf(step: Step): Step | undefined {
  const at = { in: step.in, key: step.key };
  switch (step.do) {
    case 'createBridge':
    case 'createVeth':
      return { do: 'deleteLink', ...at, link: step.name };
    case 'setLink': {
      const { up: _, ...was } = step.was ?? {};
      if (Object.keys(was).length === 0) return undefined;
      return { do: 'setLink', ...at, link: step.set.name ?? step.link, set: was, was: step.set };
    }
    case 'addAddress':
      return { do: 'removeAddress', ...at, link: step.link, address: step.address };
    case 'addRoute':
      return { ...step, do: 'removeRoute' };
    case 'removeRoute':
      return { ...step, do: 'addRoute' };
    case 'addRule':
      return { ...step, do: 'removeRule' };
    case 'removeRule':
      return { ...step, do: 'addRule' };
    case 'addFdb':
      return { ...step, do: 'removeFdb' };
    case 'removeFdb':
      return { ...step, do: 'addFdb' };
    case 'setSysctl':
      return step.was === undefined ? undefined : { ...step, value: step.was, was: step.value };
    // What was there before is not known, or not needed: the next plan mends it.
    case 'setMaster':
    case 'setPortFlags':
    case 'setPortFilter':
    case 'removeAddress':
    case 'deleteLink':
    default:
      return undefined;
  }
}
