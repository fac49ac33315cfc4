/** What is to be done for one pod: from what it asks for and what the journal has. Pure, and the same after any crash. */
import type { Attachment } from './attachment.ts';
import type { Entry } from './journal.ts';

export interface Decision {
  /** In order. The last that was made goes first. */
  readonly remove: readonly Entry[];
  /** In order, after all removals: one may wait for the name of another. */
  readonly add: readonly Attachment[];
  /** As they are to be. */
  readonly keep: readonly Entry[];
}

/** `isBroken`: it was made, and is not as it was made any more. */
export function decide(
  wanted: readonly Attachment[],
  entries: readonly Entry[],
  isBroken: (entry: Entry) => boolean = () => false,
): Decision {
  const left = [...wanted];
  const keep: Entry[] = [];
  const remove: Entry[] = [];
  for (const entry of entries) {
    const index = left.findIndex((one) => isSame(one, entry.attachment));
    if (index >= 0 && entry.result !== undefined && !isBroken(entry)) {
      left.splice(index, 1);
      keep.push(entry);
    } else remove.push(entry);
  }
  return { remove: remove.toReversed(), add: left, keep };
}

/** By what a plugin is told. The process of the namespace may be another by now: the sandbox says whose it is. */
export const isSame = (one: Attachment, other: Attachment): boolean => told(one) === told(other);

export const told = ({
  sandboxId,
  interfaceName,
  key,
  pod,
  source,
  config,
  args,
  capabilities: { ips, mac },
}: Attachment): string =>
  JSON.stringify([
    [sandboxId, interfaceName, key],
    [pod.namespace, pod.name, pod.uid],
    [source.apiVersion, source.kind, source.name],
    config,
    args.map(({ name, value }) => [name, value]),
    [ips ?? null, mac ?? null],
  ]);
