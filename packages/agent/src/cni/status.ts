/** What is said of the interfaces that plugins make. Pure. */
import type { PodInterfaceStatus, PodNetwork } from '@podloom/api';
import type { PodProcess } from '../cri/finder.ts';
import type { Attachment, PluginFailure } from './attachment.ts';
import { isSame } from './decide.ts';
import type { Entry } from './journal.ts';
import { seenIn } from './result.ts';
import { pluginInterfaces, wantedOf } from './wanted.ts';

export interface Known {
  readonly entries: readonly Entry[];
  /** By key of the interface. */
  readonly failures: ReadonlyMap<string, PluginFailure>;
}

const notRunning = { reason: 'PodNotRunning', message: 'The pod has no namespace yet' };
const notYet = { reason: 'PluginNotRun', message: 'The CNI plugin has not been run yet' };

export function statusesOf(
  network: PodNetwork,
  process: PodProcess | undefined,
  { entries, failures }: Known,
): PodInterfaceStatus[] {
  const wanted = process ? wantedOf(network, process) : [];
  const asked = pluginInterfaces(network).map(({ key, name }): PodInterfaceStatus => {
    const attachment = wanted.find((one) => one.key === key);
    const state = attachment ? stateOf(attachment, entries, failures.get(key)) : pending(notRunning);
    return Object.assign({ key, name }, state);
  });
  const keys = new Set(asked.map(({ key }) => key));
  const removing = entries
    .filter(({ attachment: { key } }) => !keys.has(key))
    .map(({ attachment: { key, interfaceName } }): PodInterfaceStatus => {
      const failure = failures.get(key);
      const problem = failure && { reason: failure.reason, message: failure.message };
      return Object.assign({ key, name: interfaceName, state: 'Removing' } as const, problem);
    });
  return [...asked, ...new Map(removing.map((one) => [one.key, one])).values()];
}

const pending = (problem: typeof notYet) => ({ state: 'Pending', ...problem }) as const;

function stateOf(
  attachment: Attachment,
  entries: readonly Entry[],
  failure: PluginFailure | undefined,
): Omit<PodInterfaceStatus, 'key'> {
  if (failure) return { state: 'Failed', reason: failure.reason, message: failure.message };
  const made = entries.find((entry) => entry.result !== undefined && isSame(entry.attachment, attachment));
  return made
    ? { state: 'Attached', ...seenIn(made.result), addresses: [...seenIn(made.result).addresses] }
    : pending(notYet);
}
