/** A kernel that cannot be read just now cannot be had on demand: the view of the node is made up here. */
import { type ObjectKey, createLog, manualClock, objectKey, settle } from '@podloom/kube';
import { NetlinkError } from '@podloom/netlink';
import { type ObservedLink, emptyNamespace, linkGroup } from '@podloom/network';
import { describe, expect, it } from 'vitest';
import type { NodeChanges } from '../observe/node.ts';
import { driftListener, nodeName } from './listener.ts';

const [one, two] = [objectKey('one', 'here'), objectKey('two', 'here')];
const port = { index: 3, name: 'hpc011', kind: 'veth', group: linkGroup, alias: 'podloom:one' } as ObservedLink;
const portGone: NodeChanges = { links: [{ old: port, now: undefined }], routing: false };
const interrupted = new NetlinkError('link.list', 4);

function setUp() {
  const clock = manualClock();
  const stop = new AbortController();
  const world = {
    clock,
    stop,
    /** What cannot be read: the node, or pods. */
    broken: new Set<ObjectKey | 'node'>(),
    reads: 0,
    isAllTouched: false,
    news: portGone,
    /** Links that are there now. */
    links: [] as ObservedLink[],
    tidied: 0,
    looked: [] as ObjectKey[],
    lines: [] as Record<string, unknown>[],
    async hear(where: string): Promise<void> {
      hear({ kind: 'overflow', in: where });
      await settle();
      await settle();
    },
    async pass(seconds: number): Promise<void> {
      for (let tenths = 0; tenths < seconds * 10; tenths += 1) {
        await clock.advance(100);
        await settle();
      }
    },
  };
  const hear = driftListener({
    view: {
      news() {
        world.reads += 1;
        if (world.broken.has('node')) throw interrupted;
        return world.news;
      },
      touchAll: () => (world.isAllTouched = true),
      current: () => ({ ...emptyNamespace, links: world.links }),
      touch: () => undefined,
      touchRouting: () => undefined,
      touchedBy: () => undefined,
    },
    calm: () => Promise.resolve(),
    clock,
    log: createLog({ name: 'test', write: (line) => world.lines.push(JSON.parse(line) as Record<string, unknown>) }),
    signal: stop.signal,
    ports: new Map([[port.name, one]]),
    look: (key) => world.looked.push(key),
    isOther(key) {
      if (world.broken.has(key)) throw interrupted;
      return true;
    },
    lookAtBridge: () => undefined,
    tidy: () => (world.tidied += 1),
    lookAtFailed: () => undefined,
    gone: () => undefined,
  });
  return world;
}

describe('what the kernel tells', () => {
  it('of the node is read again, ever later, when it cannot be read', async () => {
    const world = setUp();
    world.broken.add('node');
    await world.hear(nodeName);
    world.isAllTouched = false;
    await world.pass(60);
    expect(world.reads).toBeGreaterThan(10);
    expect(world.reads).toBeLessThan(40);
    expect(world.isAllTouched).toBe(true);
    expect(world.lines[0]).toMatchObject({ level: 'warn', err: { code: 'EINTR' } });

    world.broken.clear();
    await world.pass(5);
    expect(world.looked).toEqual([one]);
    expect(world.clock.pending).toBe(0);
  });

  it('of the node waits with what could not be read, and pods do not', async () => {
    const world = setUp();
    world.broken.add('node');
    await world.hear(nodeName);
    await world.hear(nodeName);
    await world.hear(two);
    expect(world).toMatchObject({ reads: 1, looked: [two] });
    world.stop.abort();
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
    await world.hear(nodeName);
    expect(world.tidied).toBe(tidied);
  });

  it('of a pod that cannot be read leads to a look at it, and keeps no other', async () => {
    const world = setUp();
    world.broken.add(two);
    await Promise.all([world.hear(two), world.hear(one)]);
    const [, ...pods] = world.looked; // after the one whose port is news
    expect(pods).toEqual([two, one]);
  });
});
