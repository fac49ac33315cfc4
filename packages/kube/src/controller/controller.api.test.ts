/**
 * A whole controller on a real API server, as an example and as proof: each ConfigMap that is labelled `copy` gets a twin,
 * and gets it back when someone removes or changes that.
 */
import { Bug, InvalidInput, Unavailable } from '@podloom/api';
import { describe, expect, it, onTestFinished } from 'vitest';
import { configMaps } from '../client/builtin.ts';
import type { ConfigMap } from '../client/builtin.ts';
import { isNotFound } from '../client/errors.ts';
import { eventually, realWorld } from '../client/testing/api-server.ts';
import { startCache } from '../cache/cache.ts';
import { applyObject, ownerReference } from '../objects/apply.ts';
import { ensureFinalizer, hasFinalizer, removeFinalizer } from '../objects/finalizers.ts';
import { silentLog } from '../process/log.ts';
import { createMetrics } from '../process/metrics.ts';
import { controller, dependsOn } from './controller.ts';
import type { ControllerOptions } from './controller.ts';
import { done, retry, retryAfter } from './result.ts';

const isTwin = (one: ConfigMap) => one.metadata.name?.endsWith('-twin') ?? false;

/** Runs a controller of ConfigMaps until the test ends. */
async function running(
  { client, namespace }: Awaited<ReturnType<typeof realWorld>>,
  options: Pick<ControllerOptions<ConfigMap>, 'reconcile'> & Partial<ControllerOptions<ConfigMap>>,
) {
  const stop = new AbortController();
  const resource = startCache({ client, resource: configMaps, namespace, log: silentLog, signal: stop.signal });
  const one = controller<ConfigMap>({ name: 'test', resource, client, log: silentLog, ...options });
  const ended = one.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await Promise.all([ended, resource.ended]);
    expect(one.isReady).toBe(false);
  });
  await eventually(() => expect(one.isReady).toBe(true));
  return { stop, ended };
}

describe('controller', () => {
  it('keeps a twin of each labelled object, whoever interferes', async () => {
    const world = await realWorld();
    const { client, namespace } = world;
    const stop = new AbortController();
    const all = startCache({ client, resource: configMaps, namespace, log: silentLog, signal: stop.signal });
    onTestFinished(async () => {
      stop.abort();
      await all.ended;
    });
    await running(world, {
      resource: all,
      watches: [
        dependsOn(all, (twin) =>
          isTwin(twin) ? (twin.metadata.ownerReferences ?? []).map(({ name }) => ({ name, namespace })) : [],
        ),
      ],
      async reconcile(original, { signal }) {
        if (!original.metadata.labels?.['copy'] || isTwin(original)) return done;
        const twin = {
          metadata: {
            name: `${original.metadata.name}-twin`,
            namespace,
            ownerReferences: [ownerReference(original)],
          },
          data: original.data ?? {},
        };
        await applyObject(client, configMaps, twin, { fieldManager: 'example', signal });
        return done;
      },
    });

    const twinData = () => all.get('original-twin', namespace)?.data;
    await client.create(configMaps, {
      metadata: { name: 'original', labels: { copy: 'yes' } },
      data: { colour: 'red' },
    });
    await eventually(() => expect(twinData()).toEqual({ colour: 'red' }));
    await client.patch(configMaps, 'original', { data: { colour: 'blue' } }, { type: 'merge' });
    await eventually(() => expect(twinData()).toEqual({ colour: 'blue' }));
    const { uid } = (await client.get(configMaps, 'original-twin')).metadata;
    await client.delete(configMaps, 'original-twin');
    await eventually(() => {
      expect(all.get('original-twin', namespace)?.metadata.uid).not.toBe(uid);
      expect(twinData()).toEqual({ colour: 'blue' });
    });
    await client.patch(configMaps, 'original-twin', { data: { colour: 'green' } }, { type: 'merge' });
    await eventually(() => expect(twinData()).toEqual({ colour: 'blue' }));
  });

  it('undoes what it did before an object with its finalizer goes', async () => {
    const world = await realWorld();
    const { client } = world;
    const finalizer = 'podloom.io/example';
    const undone: string[] = [];
    await running(world, {
      async reconcile(object, { signal }) {
        if (!object.metadata.labels?.['guarded']) return done;
        if (object.metadata.deletionTimestamp) {
          undone.push(object.metadata.name ?? '');
          await removeFinalizer(client, configMaps, object, finalizer, { signal });
          return done;
        }
        await ensureFinalizer(client, configMaps, object, finalizer, { signal });
        return done;
      },
    });
    await client.create(configMaps, { metadata: { name: 'guarded', labels: { guarded: 'yes' } } });
    await eventually(async () => {
      expect(hasFinalizer(await client.get(configMaps, 'guarded'), finalizer)).toBe(true);
    });
    await client.delete(configMaps, 'guarded');
    await eventually(async () => {
      const gone = await client.get(configMaps, 'guarded').then(() => false, isNotFound);
      expect(gone).toBe(true);
    });
    expect(undone).toContain('guarded');
  });

  it('is told of absence where it asks for that', async () => {
    const world = await realWorld();
    const absent: unknown[] = [];
    await running(world, {
      reconcile: () => done,
      reconcileAbsence(name) {
        absent.push(name);
        return done;
      },
    });
    await world.client.create(configMaps, { metadata: { name: 'short-lived' } });
    await world.client.delete(configMaps, 'short-lived');
    await eventually(() => expect(absent).toContainEqual({ name: 'short-lived', namespace: world.namespace }));
  });

  it('retries what the class of the error says, and counts how runs ended', async () => {
    const world = await realWorld();
    const metrics = createMetrics();
    const runs: Record<string, number> = {};
    const count = (name: string) => (runs[name] = (runs[name] ?? 0) + 1);
    await running(world, {
      metrics,
      concurrency: 4,
      backoff: { minMs: 5, maxMs: 20 },
      reconcile(object) {
        const name = object.metadata.name ?? '';
        const run = count(name);
        if (name === 'invalid') throw new InvalidInput('TEST', 'change me');
        if (name === 'bug') throw new Bug('TEST', 'our mistake');
        if (name === 'away' && run < 4) throw new Unavailable('TEST', 'not yet');
        if (name === 'reported' && run < 3) return retry(new Unavailable('TEST', 'not yet'));
        if (name === 'broken' && run < 3) throw new TypeError('nobody foresaw this');
        if (name === 'waiting' && run < 3) return retryAfter(5, 'waits for nothing in particular');
        return done;
      },
    });
    for (const name of ['invalid', 'bug', 'away', 'reported', 'broken', 'waiting', 'fine']) {
      await world.client.create(configMaps, { metadata: { name } });
    }
    await eventually(() => expect(runs).toMatchObject({ away: 4, reported: 3, broken: 3, waiting: 3, fine: 1 }));
    expect(runs).toMatchObject({ invalid: 1, bug: 1 });
    await world.client.patch(configMaps, 'invalid', { data: { fixed: 'no' } }, { type: 'merge' });
    await eventually(() => expect(runs['invalid']).toBe(2));

    // A run is counted when it has ended.
    await eventually(async () => {
      const text = await metrics.text();
      expect(text).toContain('podloom_reconciles_total{controller="test",result="whenChanged"} 2');
      expect(text).toContain('podloom_reconciles_total{controller="test",result="bug"} 3');
      expect(text).toContain('podloom_reconciles_total{controller="test",result="backoff"} 5');
      expect(text).toContain('podloom_queue_depth{controller="test"} 0');
    });
  });

  it('waits at its stop for the run under way, which is told by its signal', async () => {
    const world = await realWorld();
    const steps: string[] = [];
    const { stop, ended } = await running(world, {
      async reconcile(object, { signal }) {
        if (object.metadata.name !== 'slow') return done;
        steps.push('begun');
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve, { once: true });
        });
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
        steps.push('left');
        return done;
      },
    });
    await world.client.create(configMaps, { metadata: { name: 'slow' } });
    await eventually(() => expect(steps).toEqual(['begun']));
    stop.abort();
    await ended;
    expect(steps).toEqual(['begun', 'left']);
  });
});
