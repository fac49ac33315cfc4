import { type KubeObject, type PodConfig, podConfigKind } from '@podloom/api';
import type { Change, ObjectKey, Pod } from '@podloom/kube';
import { keyOf } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import type { Caches } from './caches.ts';
import { view } from './view.ts';

/** A copy that hears of what the test says. */
function cache<T extends KubeObject>() {
  const held = new Map<string, T>();
  const listeners = new Set<(change: Change<T>) => void>();
  const tell = (object: T, now: T | undefined): void => {
    const key = keyOf(object);
    const old = held.get(key);
    if (now) held.set(key, now);
    else held.delete(key);
    for (const listener of listeners) listener({ key, old, now });
  };
  return {
    get: (name: string) => held.get(name),
    getByKey: (key: ObjectKey) => held.get(key),
    list: () => [...held.values()],
    by: (_: string, namespace: string) => [...held.values()].filter(({ metadata }) => metadata.namespace === namespace),
    subscribe(listener: (change: Change<T>) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    comes: (object: T) => tell(object, object),
    goes: (object: T) => tell(object, undefined),
  };
}

function world() {
  const configs = cache<PodConfig>();
  const other = () => cache<KubeObject>();
  const [podNetworks, pods, nodes, namespaces, grants] = [other(), other(), other(), other(), other()];
  const sources = new Map([['PodConfig', configs]]);
  const caches = { sources, podNetworks, pods, nodes, namespaces, grants } as unknown as Caches;
  const look = view(caches, [], undefined);
  return {
    configs,
    /** What a pod of the namespace that is looked at now has. */
    given: (namespace: string) => look.compose(pod(namespace)).interfaces[0]?.interface.bridge?.device,
    deviceOf: (namespace: string) => look.deviceOf(namespace, 'pcbr0'),
  };
}

const pod = (namespace: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace, uid: 'u', labels: { podconfig: 'c' } },
});

/** Names `pcbr0`, and was made in that second of the day. */
const config = (namespace: string, second: number): PodConfig =>
  podConfigKind.parse({
    apiVersion: podConfigKind.apiVersion,
    kind: podConfigKind.kind,
    metadata: { name: 'c', namespace, uid: namespace, creationTimestamp: `2030-01-01T00:00:0${second}Z` },
    spec: { networkAttachments: [{ name: 'pc0', master: 'pcbr0', cidr: '10.0.0.0/24' }] },
  });

const hashed = expect.stringMatching(/^br[0-9a-f]{12}$/);

describe('the device of a bridge', () => {
  it.each([
    ['an older one of another namespace', 1],
    ['one of the same second whose namespace sorts before it', 2],
  ])('stays with who was given it when %s comes before its PodNetwork is heard of', (_, second) => {
    const { configs, given } = world();
    configs.comes(config('b', 2));
    expect(given('b')).toBe('pcbr0');
    configs.comes(config('a', second));
    expect([given('a'), given('b')]).toEqual([hashed, 'pcbr0']);
  });

  it('goes to the older one as long as nobody was given it', () => {
    const { configs, given, deviceOf } = world();
    configs.comes(config('b', 2));
    expect(deviceOf('b')).toBe('pcbr0');
    configs.comes(config('a', 1));
    expect([given('b'), given('a')]).toEqual([hashed, 'pcbr0']);
  });

  it('is free again when nobody names the bridge any more', () => {
    const { configs, given } = world();
    configs.comes(config('b', 1));
    expect(given('b')).toBe('pcbr0');
    configs.goes(config('b', 1));
    configs.comes(config('a', 2));
    expect(given('a')).toBe('pcbr0');
    configs.comes(config('b', 1));
    expect([given('b'), given('a')]).toEqual([hashed, 'pcbr0']);
  });
});
