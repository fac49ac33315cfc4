/** What the controllers of people share. */
import type { Clock, EventRecorder, Client, Metrics, OwnedObjects } from '@podloom/kube';
import type { Identity } from '../identity/identity.ts';
import type { PeopleCaches } from './caches.ts';
import type { PeopleOptions } from '../options.ts';

export interface PeopleContext {
  readonly client: Client;
  readonly caches: PeopleCaches;
  readonly owned: OwnedObjects;
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly options: PeopleOptions;
  readonly identity: Identity | undefined;
}
