/** What the reconcilers share while this process leads: caches and what follows from them. Made when leadership begins, and gone with it. */
import type { PodNetwork } from '@podloom/api';
import type { Client, Clock, EventRecorder, Log } from '@podloom/kube';
import type { SourceObject } from '@podloom/network';
import type { Allocator } from './allocator.ts';
import type { Caches } from './caches.ts';
import type { Fresh } from './fresh.ts';
import type { Holds } from './holds.ts';
import type { Verdicts } from './verdicts.ts';
import type { View } from './view.ts';
import type { WaitingList } from './waiting.ts';

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
  readonly holds: Holds;
  readonly verdicts: Verdicts;
  readonly waiting: WaitingList;
}
