/** A PodNetwork that is deleted at once: nobody is left to tell, so nothing may be left either. */
import { type Log, type ObjectKey, manualClock, objectKey, silentLog } from '@podloom/kube';
import type { Netns } from '@podloom/netlink';
import { expect, it, vi } from 'vitest';
import { type DriftGuard, driftGuard } from '../drift/judge.ts';
import { makeWorld } from '../testing/world.ts';
import { patience } from './patience.ts';
import { type PodDeps, releasePod } from './pod.ts';

it('gives the primary link back, tries again where it could not, and forgets the pod only then', async () => {
  using world = makeWorld();
  const pod: Netns = world.pods[0]!;
  pod.link.set('eth0', { mtu: 1400 });
  const key = objectKey('pod', 'here');
  const remembered = new Map([[key, { podUid: 'uid', record: { interfaceName: 'eth0', before: { mtuBytes: 1500 } } }]]);
  const guard = driftGuard('repair', manualClock());
  const forgotten: ObjectKey[] = [];
  const gone: ObjectKey[] = [];
  const deps = {
    node: world.node,
    view: world.view,
    served: { get: () => ({ podUid: 'uid', process: { sandboxId: 's' }, netns: pod }), close: () => undefined },
    remembered,
    plugins: { release: () => ({}), forget: () => undefined },
    // No finder: a pod that runs on is found at once when it is asked for again.
    reporter: { forget: (one: ObjectKey) => void gone.push(one) },
    failed: new Set(),
    tidy: () => undefined,
    patience: patience(manualClock()),
    guard: { ...guard, forget: (one) => void forgotten.push(one) } satisfies DriftGuard,
  } as unknown as PodDeps;
  const said: unknown[] = [];
  const log = { ...silentLog, info: (_: object, text: string) => void said.push(text) } as Log;
  const release = () =>
    releasePod(deps)({ name: 'pod', namespace: 'here' }, { log, signal: new AbortController().signal });

  {
    using _ = vi.spyOn(pod.link, 'set').mockImplementation(() => {
      throw new Error('not now');
    });
    expect(await release()).toMatchObject({ kind: 'failed' });
  }
  expect([said, forgotten, gone, remembered.size]).toEqual([[], [], [], 1]);
  expect(await release()).toEqual({ kind: 'done' });
  expect(pod.link.get('eth0').mtu).toBe(1500);
  expect([said.length, forgotten, gone, remembered.size]).toEqual([1, [key], [key], 0]);
});
