import { Conflict, type KubeObject, type PodConfig, podConfigFinalizer, podConfigKind } from '@podloom/api';
import type { Client } from '@podloom/kube';
import { settle } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { sourceHolds } from './holds.ts';
import { keyOfSource } from './sources.ts';

const config = (metadata: object = {}): PodConfig =>
  podConfigKind.parse({
    apiVersion: podConfigKind.apiVersion,
    kind: podConfigKind.kind,
    metadata: { name: 'c', namespace: 'ns', uid: 'u', resourceVersion: '1', ...metadata },
    spec: {},
  });

/** A server that has the object in this edition, and takes no patch of another one. */
function world(known: PodConfig, onServer = known) {
  let [cached, stored] = [known, onServer];
  const patches: (string | undefined)[] = [];
  const answers: (() => void)[] = [];
  const client = {
    get: () => Promise.resolve(stored),
    async patch(_: unknown, __: string, { metadata }: KubeObject) {
      patches.push(metadata.resourceVersion);
      await new Promise<void>((resolve) => answers.push(resolve));
      if (metadata.resourceVersion !== stored.metadata.resourceVersion) throw stale;
      return (stored = { ...stored, metadata: { ...stored.metadata, ...metadata, resourceVersion: '9' } });
    },
  } as unknown as Client;
  const sources = new Map([['PodConfig', { get: () => cached, wrote: (one: PodConfig) => (cached = one) }]]);
  const released: string[] = [];
  const holds = sourceHolds({
    client,
    sources: sources as never,
    signal: new AbortController().signal,
    released: (key) => released.push(key),
  });
  const answer = async (): Promise<void> => {
    await settle();
    answers.splice(0).forEach((one) => one());
    await settle();
  };
  return { holds, patches, released, answer, stored: () => stored };
}

const stale = new Conflict('API_STALE', 'It has changed');
const names = ['ns/PodConfig/c'];

describe('an object that networks come from', () => {
  it('gets its finalizer once, however many pods wait for it', async () => {
    const { holds, patches, answer, stored } = world(config());
    let isHeld = false;
    const all = Promise.all([holds.ensure([config()]), holds.ensure([config()])]).then(() => (isHeld = true));
    await settle();
    expect([patches, isHeld]).toEqual([['1'], false]);
    await answer();
    await all;
    expect(stored().metadata.finalizers).toEqual([podConfigFinalizer]);
    await holds.ensure([config()]);
    expect(patches).toHaveLength(1);
  });

  it('gets it also where it has changed and the cache has not heard of that', async () => {
    const { holds, patches, answer, stored } = world(config(), config({ resourceVersion: '2' }));
    const held = holds.ensure([config()]);
    await answer();
    await answer();
    await held;
    expect(patches).toEqual(['1', '2']);
    expect(stored().metadata.finalizers).toEqual([podConfigFinalizer]);
  });

  it('that was deleted meanwhile is no refusal: who wanted something of it comes again', async () => {
    const { holds, answer } = world(
      config(),
      config({ resourceVersion: '2', deletionTimestamp: '2030-01-01T00:00:00Z' }),
    );
    await Promise.all([
      expect(holds.ensure([config()])).rejects.toMatchObject({ code: 'SOURCE_GOES', retry: 'backoff' }),
      answer(),
    ]);
  });

  it('gets none while it goes', async () => {
    const going = config({ deletionTimestamp: '2030-01-01T00:00:00Z' });
    const { holds, patches } = world(going);
    await holds.ensure([going]);
    expect(patches).toEqual([]);
  });

  it('is not let go while somebody writes something of it, and then is looked at', () => {
    const { holds, released } = world(config());
    const key = keyOfSource(config());
    const [one, other] = [holds.use([config()]), holds.use([config()])];
    one[Symbol.dispose]();
    expect([holds.isUsed(key), released]).toEqual([true, []]);
    other[Symbol.dispose]();
    expect([holds.isUsed(key), released]).toEqual([false, names]);
  });
});
