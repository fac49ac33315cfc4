/** The moments between a write and the watch that tells of it, which no real server can be made to stretch: here the watch tells when the test says so. */
import { type IPPool, Unavailable, ipPoolKind } from '@podloom/api';
import {
  type Cache,
  type Change,
  type Client,
  type ObjectKey,
  keyOf,
  manualClock,
  objectKey,
  silentLog,
} from '@podloom/kube';
import type { NetworkRange, PoolRequest } from '@podloom/network';
import { describe, expect, it } from 'vitest';
import { allocator } from './allocator.ts';
import { rangeKey } from './caches.ts';

const range: NetworkRange = { network: 'br', cidr: '10.0.0.0/24' };
const ask = (pod: string, address?: string): PoolRequest => ({
  podName: pod,
  podUid: `uid-${pod}`,
  interfaceKey: 'PodConfig/c/pc0',
  ...(address === undefined ? {} : { address }),
});

const stale = new Unavailable('API_STALE', 'The object has changed');

/** Whoever passes waits until it is open. */
function gate() {
  const [reached, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const pass = (): Promise<void> => {
    reached.resolve();
    return open.promise;
  };
  return { reached, open, pass };
}

/** One pool on a server, and a copy that hears of it by `tell`. */
function world() {
  let stored: IPPool | undefined;
  let heard: IPPool | undefined;
  let version = 0;
  const listeners = new Set<(change: Change<IPPool>) => void>();
  let reading: (() => Promise<void>) | undefined;
  /** What happens to the answer of the next write. */
  let answering: (() => Promise<void>) | undefined;
  let refusing = false;
  async function store(pool: IPPool): Promise<IPPool> {
    version += 1;
    const written = { ...pool, metadata: { ...pool.metadata, uid: 'pool', resourceVersion: String(version) } };
    stored = written;
    const answer = answering;
    answering = undefined;
    await answer?.();
    return written;
  }
  const client = {
    create: (_: unknown, pool: IPPool) => store({ ...pool, apiVersion: ipPoolKind.apiVersion }),
    async get() {
      await reading?.();
      return stored;
    },
    update: (_: unknown, pool: IPPool) => {
      const isRefused = refusing;
      refusing = false;
      if (isRefused) return Promise.reject(new Unavailable('TEST', 'The server is busy'));
      return pool.metadata.resourceVersion === stored?.metadata.resourceVersion ? store(pool) : Promise.reject(stale);
    },
  } as unknown as Client;
  const pools = {
    by: (_: string, key: string) => (heard && [rangeKey('ns', 'br', '10.0.0.0/24'), 'ns'].includes(key) ? [heard] : []),
    getByKey: (key: ObjectKey) => (heard && key === keyOf(heard) ? heard : undefined),
    subscribe(listener: (change: Change<IPPool>) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  } as unknown as Cache<IPPool, 'namespace' | 'range'>;
  /** Another term of leadership on the same server. */
  const clock = manualClock(Date.now());
  const lost: ObjectKey[] = [];
  const signal = new AbortController().signal;
  const another = () => allocator({ client, pools, clock, log: silentLog, signal, lost: (pod) => lost.push(pod) });
  const addresses = another();
  return {
    addresses,
    another,
    clock,
    lost,
    give: async (request: PoolRequest): Promise<string> => {
      const result = await addresses.allocate('ns', range, request);
      return 'address' in result ? result.address : result.failed;
    },
    giveBack: async (...podNames: string[]) => {
      for (const pod of podNames) await addresses.release(objectKey(pod, 'ns'), () => true);
    },
    tell: () => {
      const change = { key: keyOf(stored!), old: heard, now: stored } as Change<IPPool>;
      heard = stored;
      for (const listener of listeners) listener(change);
    },
    /** The next write is done, and its answer lost. */
    loseAnswer: () => {
      answering = () => Promise.reject(new Unavailable('TEST', 'The connection broke before the answer came'));
    },
    /** The next write is not done. */
    refuse: () => {
      refusing = true;
    },
    /** The next write is done, and its answer comes later. */
    holdAnswer: () => {
      const held = gate();
      answering = held.pass;
      return held;
    },
    /** Reads wait from now on. */
    holdReads: () => {
      const held = gate();
      reading = held.pass;
      return held;
    },
    recorded: () =>
      (stored?.status?.allocations ?? []).map(
        ({ podName, address, releasedAt }) => `${podName} ${address}${releasedAt === undefined ? '' : ' given back'}`,
      ),
    /** Counts writes of the pool. */
    version: () => version,
  };
}

describe('an allocator', () => {
  it('hands out of its stock without a write, the same to who asks again, and records it a moment later', async () => {
    const { addresses, clock, give, tell, recorded } = world();
    expect(await give(ask('a'))).toBe('10.0.0.2/24');
    tell();
    expect(await give(ask('b'))).toBe('10.0.0.3/24');
    expect(await give(ask('b'))).toBe('10.0.0.3/24');
    expect(await give(ask('c'))).toBe('10.0.0.4/24');
    expect(recorded()).toEqual(['a 10.0.0.2']);
    expect(addresses.has('ns', range, ask('b', '10.0.0.3'))).toBe(true);
    expect(addresses.has('ns', range, ask('c', '10.0.0.3'))).toBe(false);
    await clock.advance(500);
    expect(recorded()).toEqual(['a 10.0.0.2', 'b 10.0.0.3', 'c 10.0.0.4']);
    expect(addresses.has('ns', range, ask('b', '10.0.0.3'))).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('records what it promised with the next write of the pool, and what could not be written again after a while', async () => {
    const { clock, give, tell, refuse, recorded } = world();
    await give(ask('a'));
    tell();
    await give(ask('b'));
    await give(ask('named', '10.0.0.9'));
    expect(recorded()).toEqual(['a 10.0.0.2', 'b 10.0.0.3', 'named 10.0.0.9']);
    expect(clock.pending).toBe(0);
    tell();
    await give(ask('c'));
    refuse();
    await clock.advance(500);
    expect(recorded()).toHaveLength(3);
    await clock.advance(500);
    expect(recorded()).toContain('c 10.0.0.4');
    expect(clock.pending).toBe(0);
  });

  it('takes back what it has only promised, with the write that records it', async () => {
    const { addresses, clock, give, giveBack, tell, recorded, version } = world();
    await give(ask('a'));
    tell();
    await give(ask('b'));
    const before = version();
    expect(addresses.heldBy(objectKey('b', 'ns'))).toMatchObject([
      { entry: { address: '10.0.0.3' }, range: { network: 'br', cidr: '10.0.0.0/24' } },
    ]);
    await giveBack('b');
    expect(recorded()).toEqual(['a 10.0.0.2', 'b 10.0.0.3 given back']);
    expect(version()).toBe(before + 1);
    expect(addresses.heldBy(objectKey('b', 'ns'))).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('takes back what it gave of a pool of which the watch has not told yet', async () => {
    const { give, giveBack, recorded } = world();
    await give(ask('a'));
    await giveBack('a');
    expect(recorded()).toEqual(['a 10.0.0.2 given back']);
  });

  it('takes back what it promised also while the write that records it is on its way', async () => {
    const { clock, give, giveBack, tell, holdAnswer, recorded } = world();
    await give(ask('a'));
    tell();
    await give(ask('b'));
    const { reached, open } = holdAnswer();
    await clock.advance(500);
    await reached.promise;
    const given = giveBack('b');
    open.resolve();
    await given;
    expect(recorded()).toEqual(['a 10.0.0.2', 'b 10.0.0.3 given back']);
  });

  it('leaves no timer behind when it ends', async () => {
    const { addresses, clock, give, tell } = world();
    await give(ask('a'));
    tell();
    await give(ask('b'));
    expect(clock.pending).toBe(1);
    addresses.end();
    expect(clock.pending).toBe(0);
  });

  it('promises nothing that a write on its way gives to another', async () => {
    const { give, tell, holdAnswer } = world();
    await give(ask('a'));
    tell();
    const { reached, open } = holdAnswer();
    const named = give(ask('named', '10.0.0.3'));
    await reached.promise;
    expect(await give(ask('b'))).toBe('10.0.0.4/24');
    open.resolve();
    expect(await named).toBe('10.0.0.3/24');
  });

  it('promises nothing that a write may have given whose answer never came', async () => {
    const { give, tell, loseAnswer, recorded } = world();
    await give(ask('a'));
    tell();
    loseAnswer();
    await expect(give(ask('named', '10.0.0.3'))).rejects.toThrow('before the answer came');
    expect(recorded()).toEqual(['a 10.0.0.2', 'named 10.0.0.3']);
    expect(await give(ask('b'))).toBe('10.0.0.4/24');
    expect(await give(ask('named', '10.0.0.3'))).toBe('10.0.0.3/24');
    expect(recorded()).toEqual(['a 10.0.0.2', 'named 10.0.0.3', 'b 10.0.0.4']);
  });

  it('promises nothing of that either while the next write finds out what became of the last', async () => {
    const { give, tell, loseAnswer, holdReads } = world();
    await give(ask('a'));
    tell();
    loseAnswer();
    await expect(give(ask('named', '10.0.0.3'))).rejects.toThrow('before the answer came');
    const { reached, open } = holdReads();
    const other = give(ask('other', '10.0.0.9'));
    await reached.promise; // its write was refused, because the one before has come through
    expect(await give(ask('b'))).toBe('10.0.0.4/24');
    open.resolve();
    expect(await other).toBe('10.0.0.9/24');
    expect(await give(ask('named', '10.0.0.3'))).toBe('10.0.0.3/24');
  });

  it('promises who comes back what it had, unless another has it by then', async () => {
    const { addresses, give, giveBack, tell, recorded, clock } = world();
    await give(ask('a'));
    await give(ask('b'));
    tell();
    await giveBack('a', 'b');
    tell();
    await give(ask('named', '10.0.0.9'));
    tell();
    const before = recorded();
    expect(await give(ask('b'))).toBe('10.0.0.3/24');
    expect(await give(ask('c'))).toBe('10.0.0.4/24');
    expect(recorded()).toEqual(before);
    await clock.advance(61_000);
    expect(await give(ask('d', '10.0.0.2'))).toBe('10.0.0.2/24');
    expect(await give(ask('a'))).toBe('10.0.0.5/24');
    expect(addresses.has('ns', range, ask('b', '10.0.0.3'))).toBe(true);
  });

  it('refuses by name what is promised', async () => {
    const { give, tell } = world();
    await give(ask('a'));
    tell();
    expect(await give(ask('b'))).toBe('10.0.0.3/24');
    expect(await give(ask('named', '10.0.0.3'))).toBe('AddressTaken');
  });

  it('says so when another operator has taken over what was promised', async () => {
    const { clock, give, tell, another, lost } = world();
    await give(ask('a'));
    tell();
    expect(await give(ask('b'))).toBe('10.0.0.3/24');
    expect(await another().allocate('ns', range, ask('c'))).toEqual({ address: '10.0.0.35/24' });
    await clock.advance(500);
    expect(lost).toEqual(['ns/b']);
  });
});
