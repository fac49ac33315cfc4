/**
 * Names of links. Users of podconfig-operator look for `pc0<pid>` in the pod and `hpc0<pid>` on the node; the kernel has 15 bytes for them.
 * Once chosen a name stays for the pod's life, also when its first container restarts and the process id is another. Only on a node that started anew
 * another pod may have the node's part of it by then.
 */
import type { PodNetworkSpec, PodNetworkStatus } from '@podloom/api';
import { hashText } from '../hash.ts';
import type { LinkNames } from './desired.ts';
import { isOfAnotherPod, podMark } from './mark.ts';
import { findEnds } from './ends.ts';
import type { Observed } from './observed.ts';
import { linkNamed } from './world.ts';

const fits = (name: string): boolean => new TextEncoder().encode(name).length <= 15;
const hashed = (letter: 'h' | 'p', text: string): string => letter + hashText(`${letter} ${text}`).slice(0, 14);

/** `<prefix><pid>` and `h<prefix><pid>`, each in its hash form (`p…`, `h…`) where it would be over 15 bytes. */
export function linkNames(prefix: string, pid: number): LinkNames {
  const pod = `${prefix}${pid}`;
  const node = `h${pod}`;
  return { pod: fits(pod) ? pod : hashed('p', pod), node: fits(node) ? node : hashed('h', node) };
}

export interface NameSources {
  readonly spec: Pick<PodNetworkSpec, 'podUid' | 'interfaces'>;
  readonly status?: Pick<PodNetworkStatus, 'interfaces'> | undefined;
  /** Of the pod's first container, as the runtime reports it. */
  readonly pid: number;
  readonly observed: Observed;
}

/** Recorded names first, then those of links that are there already, then fresh ones. */
export function chooseNames({ spec, status, pid, observed }: NameSources): Map<string, LinkNames> {
  const recorded = new Map(status?.interfaces?.map((entry) => [entry.key, entry]));
  return new Map(
    spec.interfaces.map(({ key, name, namePrefix }): [string, LinkNames] => {
      const entry = recorded.get(key);
      const mark = podMark(spec.podUid, key);
      const unique = (): string => hashed('h', mark);
      const free = (names: LinkNames): LinkNames =>
        isOfAnotherPod(linkNamed(observed.node, names.node), spec.podUid) ? { ...names, node: unique() } : names;
      const fresh = name === undefined ? linkNames(namePrefix ?? 'net', pid) : { pod: name, node: unique() };
      // A link without another end may become one that has one.
      const named = (pod: string, node: string | undefined): LinkNames => ({
        pod,
        node: node ?? (pod === fresh.pod ? fresh.node : unique()),
      });
      if (entry?.name) return [key, free(named(entry.name, entry.hostName))];

      const seen = findEnds(mark, observed);
      if (seen.pod) return [key, free(named(seen.pod.name, seen.node?.name))];

      // pc0 with process 12 and pc01 with process 2 would both be hpc012: the second one steps aside.
      return [key, free(fresh)];
    }),
  );
}
