/** Keeps the ConfigMap that tells the admission policies which Workspaces and Tenants exist. */
import { type ConfigMap, type Log, applyObject, configMaps, isSameJson, startCache, workQueue } from '@podloom/kube';
import { knownNames, knownNamesName } from '@podloom/labs';
import { fieldManager } from '../settings.ts';
import type { PeopleContext } from './context.ts';

/** Many people come at once when a course begins. */
const togetherMs = 100;

/** Works until the signal aborts. */
export async function keepKnownNames(
  { client, caches, clock, options }: PeopleContext,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const { namespace } = options;
  const fieldSelector = `metadata.name=${knownNamesName}`;
  const written = startCache({ client, resource: configMaps, namespace, fieldSelector, log, clock, signal });
  const queue = workQueue<'names'>({
    clock,
    async run() {
      const wanted = knownNames(namespace, namesOf(caches.workspaces.list()), namesOf(caches.tenants.list()));
      if (isSameJson(written.get(knownNamesName, namespace)?.data, wanted['data'])) return 'done';
      try {
        await applyObject(client, configMaps, wanted as unknown as ConfigMap & { metadata: { name: string } }, {
          fieldManager,
          signal,
        });
        return 'done';
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, 'Could not write the names for the policies, will retry');
        return 'failed';
      }
    },
  });
  try {
    await written.waitForSync();
    const ask = () => queue.addAfter('names', togetherMs);
    const stops = [
      written.subscribe(ask),
      ...[caches.workspaces, caches.tenants].map((cache) =>
        cache.subscribe(({ old, now }) => {
          if (!old || !now) ask();
        }),
      ),
    ];
    queue.add('names');
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    for (const stop of stops) stop();
  } finally {
    await queue.stop();
    await written.ended;
  }
}

const namesOf = (objects: readonly { readonly metadata: { readonly name?: string | undefined } }[]) =>
  objects.map(({ metadata }) => metadata.name ?? '');
