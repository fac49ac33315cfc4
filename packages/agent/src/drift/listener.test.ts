/** A kernel that cannot be read just now cannot be had on demand: the view of the node is made up here. */
import { type ObjectKey, createLog, manualClock, objectKey, settle } from '@podloom/kube';
import { NetlinkError } from '@podloom/netlink';
import { type ObservedLink, emptyNamespace, linkGroup } from '@podloom/network';
import { describe, expect, it } from 'vitest';
import type { NodeChanges } from '../observe/node.ts';
import { debounceMs, driftListener, nodeName } from './listener.ts';

const [one, two] = [objectKey('one', 'here'), objectKey('two', 'here')];
const port = {
  index: 3,
  name: 'hpc011',
  kind: 'veth',
  group: linkGroup,
  alias: 'podloom pod uid-1 key',
} as ObservedLink;
const portGone: NodeChanges = { links: [{ old: port, now: undefined }], routing: false };
const interrupted = new NetlinkError('link.list', 4);

function setUp() {
  const clock = manualClock();
  const world = {
    clock,
    isReadable: true,
    reads: 0,
    isAllTouched: false,
    news: portGone,
    /** Links that are there now. */
    links: [] as ObservedLink[],
    tidied: 0,
    /** PodNetworks by key, pods by uid. */
    looked: [] as (ObjectKey | string)[],
    lines: [] as Record<string, unknown>[],
    onEvent: (where: string) => drift.onEvent({ kind: 'overflow', in: where }),
    stop: () => drift.stop(),
    async pass(ms: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += debounceMs) {
        await clock.advance(debounceMs);
        await settle();
      }
    },
  };
  const drift = driftListener({
    view: {
      news() {
        world.reads += 1;
        if (!world.isReadable) throw interrupted;
        return world.news;
      },
      touchAll: () => (world.isAllTouched = true),
      current: () => ({ ...emptyNamespace, links: world.links }),
      touch: () => undefined,
      touchRouting: () => undefined,
      touchedBy: () => undefined,
    },
    clock,
    log: createLog({ name: 'test', write: (line) => world.lines.push(JSON.parse(line) as Record<string, unknown>) }),
    lookAt: (key) => world.looked.push(key),
    lookAtPod: (podUid) => world.looked.push(podUid),
    lookAtBridge: () => undefined,
    lookAtFailed: () => undefined,
    tidyNode: () => (world.tidied += 1),
    gone: () => undefined,
  });
  return world;
}

describe('what the kernel tells', () => {
  it('is read once for many messages, also while they go on', async () => {
    const world = setUp();
    for (let times = 0; times < 10; times += 1) {
      for (const where of [nodeName, one, two, one]) world.onEvent(where);
      await world.clock.advance(debounceMs / 10);
    }
    await settle();
    expect(world.reads).toBe(1);
    expect(world.looked.toSorted()).toEqual([one, two, 'uid-1'].toSorted());
    expect(world.clock.pending).toBe(0);
  });

  it('of the node is read again, ever later, when it cannot be read', async () => {
    const world = setUp();
    world.isReadable = false;
    world.onEvent(nodeName);
    await world.pass(60_000);
    expect(world.reads).toBeGreaterThan(10);
    expect(world.reads).toBeLessThan(40);
    expect(world.isAllTouched).toBe(true);
    expect(world.lines[0]).toMatchObject({ level: 'warn', err: { code: 'EINTR' } });

    world.isReadable = true;
    await world.pass(5_000);
    expect(world.looked).toEqual(['uid-1']);
    expect(world.clock.pending).toBe(0);
  });

  it('of pods does not wait for a node that cannot be read', async () => {
    const world = setUp();
    world.isReadable = false;
    world.onEvent(nodeName);
    await world.pass(1_000);
    world.onEvent(two);
    await world.pass(debounceMs);
    expect(world.looked).toEqual([two]);
    await world.stop();
    expect(world.clock.pending).toBe(0);
  });

  it.each([
    ['leaves a bridge of ours has the node tidied', linkGroup, undefined, 1],
    ['goes to another bridge has it tidied, too', linkGroup, 6, 1],
    ['stays there has not', linkGroup, 5, 0],
    ['leaves a bridge of someone else has not', 0, undefined, 0],
  ])('of a link that %s', async (_, group, master, tidied) => {
    const world = setUp();
    const tap = { index: 4, name: 'tap0', group: 0, master: 5 } as ObservedLink;
    world.links = [{ index: 5, name: 'pcbr0', kind: 'bridge', group } as ObservedLink];
    world.news = { links: [{ old: tap, now: { ...tap, master } }], routing: false };
    world.onEvent(nodeName);
    await world.pass(2 * debounceMs);
    expect(world.tidied).toBe(tidied);
  });
});
