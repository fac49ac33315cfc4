/** What the reconcilers share while this process leads: caches and what follows from them. Made when leadership begins, and gone with it. */
import type { KubeObject, PodNetwork } from '@podloom/api';
import type { Client, Clock, EventRecorder, Log, ObjectKey, Pod } from '@podloom/kube';
import type { ComposedInterface, SourceObject } from '@podloom/network';
import type { Allocator } from './allocator.ts';
import type { Caches } from './caches.ts';
import type { Fresh } from './fresh.ts';
import type { SourceKey } from './sources.ts';
import type { Verdict } from './verdicts.ts';
import type { View } from './view.ts';

/** As whom the operator applies. */
export const fieldManager = 'podloom-network-operator';

export interface NetworkContext {
  readonly client: Client;
  readonly caches: Caches;
  readonly view: View;
  readonly allocator: Allocator;
  readonly podNetworks: Fresh<PodNetwork>;
  readonly sources: ReadonlyMap<string, Fresh<SourceObject>>;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly sampleImage: string;
  /** Gives each of these objects that lacks it its finalizer. Nothing waits for that: it only keeps an object in sight until its links are gone. */
  hold(sources: readonly SourceObject[], when: 'now' | 'soon'): void;
  /** Until it is disposed of, these objects are not let go: something of theirs is being written. */
  uses(sources: readonly SourceObject[]): Disposable;
  isUsed(source: SourceKey): boolean;
  /** As the server has them, from after the call: one list for all who ask while another is on its way. */
  listPodNetworks(namespace: string): Promise<readonly PodNetwork[]>;
  verdictOf(pod: Pod): Verdict | undefined;
  /** Notes what was found for a pod, tells its owner what is new, and lets the sources report. */
  judge(pod: Pod, verdict: Verdict): void;
  forget(pod: Pick<KubeObject, 'metadata'>): void;
  /** These interfaces lack an address: the pod is looked at again when one of their networks has a change. None: it waits no more. */
  waits(pod: ObjectKey, interfaces: readonly ComposedInterface[]): void;
}
