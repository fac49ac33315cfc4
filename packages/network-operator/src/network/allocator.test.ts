/** The moments between a write and the watch that tells of it, which no real server can be made to stretch: here the watch tells when the test says so. */
import { type IPPool, type PodNetwork, InvalidInput, Unavailable, ipPoolKind, podNetworkKind } from '@podloom/api';
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
import { type Caches, rangeKey } from './caches.ts';
import { rebuildPools } from './rebuild.ts';

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

/** Pools on a server, and a copy that hears of them by `tell`. */
function world() {
  const stored = new Map<string, IPPool>();
  const heard = new Map<ObjectKey, IPPool>();
  let version = 0;
  const listeners = new Set<(change: Change<IPPool>) => void>();
  let reading: (() => Promise<void>) | undefined;
  /** What happens to the answer of the next write. */
  let answering: (() => Promise<void>) | undefined;
  let refusing = false;
  /** Pools that the server does not want, by name, and what it says then. */
  const shut = new Map<string, Error>();
  async function store(pool: IPPool): Promise<IPPool> {
    const { name = '' } = pool.metadata;
    const refusal = shut.get(name);
    if (refusal) throw refusal;
    version += 1;
    const written = { ...pool, metadata: { ...pool.metadata, uid: name, resourceVersion: String(version) } };
    stored.set(name, written);
    const answer = answering;
    answering = undefined;
    await answer?.();
    return written;
  }
  const client = {
    create: (_: unknown, pool: IPPool) => store({ ...pool, apiVersion: ipPoolKind.apiVersion }),
    async get(_: unknown, name: string) {
      await reading?.();
      return stored.get(name);
    },
    update: (_: unknown, pool: IPPool, { subresource }: { subresource?: string } = {}) => {
      const isRefused = refusing;
      refusing = false;
      if (isRefused) return Promise.reject(new Unavailable('TEST', 'The server is busy'));
      const before = stored.get(pool.metadata.name ?? '');
      if (!before || pool.metadata.resourceVersion !== before.metadata.resourceVersion) return Promise.reject(stale);
      const { spec, status, ...rest } =
        subresource === 'status' ? { ...pool, spec: before.spec } : { ...pool, status: before.status };
      return store({ ...rest, spec, ...(status && { status }) });
    },
  } as unknown as Client;
  const pools = {
    by: (_: string, key: string) =>
      [...heard.values()].filter(({ spec }) => [rangeKey('ns', spec.network, spec.cidr), 'ns'].includes(key)),
    getByKey: (key: ObjectKey) => heard.get(key),
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
    pools,
    shut,
    give: async (request: PoolRequest, of = range): Promise<string> => {
      const result = await addresses.allocate('ns', of, request);
      return 'address' in result ? result.address : result.failed;
    },
    giveBack: async (...podNames: string[]) => {
      for (const pod of podNames) await addresses.release(objectKey(pod, 'ns'), () => true);
    },
    tell: () => {
      for (const now of stored.values()) {
        const key = keyOf(now);
        const change = { key, old: heard.get(key), now } as Change<IPPool>;
        heard.set(key, now);
        for (const listener of listeners) listener(change);
      }
    },
    /** The next write is done, and its answer lost. */
    loseAnswer: () => {
      answering = () => Promise.reject(new Unavailable('TEST', 'The connection broke before the answer came'));
    },
    /** The next write is not done. */
    refuse: () => {
      refusing = true;
    },
    /** Someone else writes a pool: whose copy is older is told so. */
    touch: (name: string) => store(stored.get(name)!),
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
    recorded: (cidr = '10.0.0.0/24') =>
      [...stored.values()]
        .filter(({ spec }) => spec.cidr === cidr)
        .flatMap(({ status }) => status?.allocations ?? [])
        .map(
          ({ podName, address, releasedAt }) => `${podName} ${address}${releasedAt === undefined ? '' : ' given back'}`,
        ),
    names: () => [...stored.keys()],
    specOf: (name: string) => stored.get(name)?.spec,
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

  it('promises nothing of that either after a look at who has its address already, for which nothing was written', async () => {
    const { give, tell, loseAnswer } = world();
    await give(ask('a'));
    tell();
    loseAnswer();
    await expect(give(ask('named', '10.0.0.3'))).rejects.toThrow('before the answer came');
    expect(await give(ask('a'))).toBe('10.0.0.2/24');
    expect(await give(ask('b'))).toBe('10.0.0.4/24');
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

describe('a range that is declared otherwise', () => {
  it('gives out of the stock nothing that is excluded since', async () => {
    const { addresses, clock, give, tell, recorded } = world();
    await give(ask('a'));
    tell();
    const turned = { ...range, exclude: ['10.0.0.0/25'] };
    // The look at the pod that has an address is what tells the pool.
    expect(addresses.has('ns', turned, ask('a', '10.0.0.2'))).toBe(false);
    expect(await give(ask('a', '10.0.0.2'), turned)).toBe('10.0.0.2/24');
    tell();
    expect(addresses.has('ns', turned, ask('a', '10.0.0.2'))).toBe(true);
    expect(await give(ask('b'), turned)).toBe('10.0.0.128/24');
    // It was set aside with the same write as the spec was made known.
    expect(recorded()).toEqual(['a 10.0.0.2']);
    await clock.advance(500);
    expect(recorded()).toEqual(['a 10.0.0.2', 'b 10.0.0.128']);
  });

  it('is what who asks now says, not who was promised something before', async () => {
    const { give, tell, specOf } = world();
    await give(ask('a'));
    tell();
    await give(ask('b'));
    expect(await give(ask('c'), { ...range, exclude: ['10.0.0.0/28'] })).toBe('10.0.0.16/24');
    expect(specOf('br-10.0.0.0-24')?.exclude).toEqual(['10.0.0.0/28']);
  });

  it('tells all its pools, also when someone else has written one of them meanwhile', async () => {
    const { give, tell, touch, specOf } = world();
    const large = { network: 'br', cidr: '10.0.0.0/16' };
    await give(ask('a'), large);
    await give(ask('named', '10.0.3.9'), large);
    tell();
    await touch('br-10.0.0.0-16');
    const turned = { ...large, gateway: '10.0.3.1', exclude: ['10.0.0.0/28'] };
    expect(await give(ask('b'), turned)).toBe('10.0.0.16/16');
    expect(await give(ask('c', '10.0.3.1'), turned)).toBe('AddressOutsideRange');
    for (const name of ['br-10.0.0.0-16', 'br-10.0.3.0-16']) {
      expect(specOf(name)).toMatchObject({ gateway: '10.0.3.1', exclude: ['10.0.0.0/28'] });
    }
  });

  it('takes from a pod what is the gateway now, recorded or promised', async () => {
    const { addresses, give, tell, lost } = world();
    await give(ask('a'));
    tell();
    expect(await give(ask('b'))).toBe('10.0.0.3/24');
    for (const [pod, gateway] of [
      ['a', '10.0.0.2'],
      ['b', '10.0.0.3'],
    ] as const) {
      const turned = { ...range, gateway };
      // Another look has told the pool already.
      await give(ask('other', '10.0.0.200'), turned);
      tell();
      expect(addresses.has('ns', turned, ask(pod, gateway))).toBe(false);
      expect(await give(ask(pod, gateway), turned)).toBe('AddressOutsideRange');
      expect(await give(ask(pod), turned)).not.toBe(`${gateway}/24`);
    }
    expect(lost).toEqual([]);
  });

  it('lets who was promised the new gateway know', async () => {
    const { give, tell, lost } = world();
    await give(ask('a'));
    tell();
    expect(await give(ask('b'))).toBe('10.0.0.3/24');
    await give(ask('c', '10.0.0.9'), { ...range, gateway: '10.0.0.3' });
    expect(lost).toEqual(['ns/b']);
  });

  it('leaves everyone the address of the narrower range, and gives none of them to others', async () => {
    const { addresses, give, giveBack, tell, recorded } = world();
    const narrow = { network: 'br', cidr: '10.0.0.0/27' };
    await give(ask('a'), narrow);
    await give(ask('gone'), narrow);
    tell();
    await giveBack('gone');
    tell();
    expect(await give(ask('promised'), narrow)).toBe('10.0.0.4/27');
    // Who waited comes first.
    expect(await give(ask('late'))).toBe('10.0.0.10/24');
    expect(await give(ask('a', '10.0.0.2'))).toBe('10.0.0.2/24');
    const has = { ...ask('promised', '10.0.0.4'), hasIt: true };
    expect(await give(has)).toBe('10.0.0.4/24');
    expect(await give(ask('thief', '10.0.0.4'))).toBe('AddressTaken');
    expect(await give(ask('thief', '10.0.0.3'))).toBe('AddressTaken');
    await addresses.release(objectKey('a', 'ns'), ({ range: { cidr } }) => cidr === narrow.cidr);
    expect(recorded()).toContain('a 10.0.0.2');
    expect(recorded('10.0.0.0/27')).toContain('a 10.0.0.2 given back');
  });

  it('gives nothing that a write of the narrower range is about to give', async () => {
    const { give, tell, holdAnswer } = world();
    const narrow = { network: 'br', cidr: '10.0.0.0/25' };
    await give(ask('a'));
    await give(ask('b'), narrow);
    tell();
    const { reached, open } = holdAnswer();
    const named = give(ask('named', '10.0.0.100'), narrow);
    await reached.promise;
    expect(await give(ask('thief', '10.0.0.100'))).toBe('AddressTaken');
    open.resolve();
    expect(await named).toBe('10.0.0.100/25');
  });
});

describe('a range of which much is excluded', () => {
  it('has no pools that can give nothing', async () => {
    const { give, names } = world();
    const large = { network: 'br', cidr: 'fd00::/64', exclude: ['fd00::/96'] };
    expect(await give(ask('a'), large)).toBe('fd00::1:0:0/64');
    expect(names()).toEqual(['br-fd00-x-1-0-0-64']);
  });

  it('is exhausted without a pool where nothing is left, and still gives what is asked for by name', async () => {
    const { give, names } = world();
    const closed = { ...range, cidr: '10.0.0.0/16', exclude: ['10.0.0.0/16'] };
    expect(await give(ask('a'), closed)).toBe('Exhausted');
    expect(names()).toEqual([]);
    expect(await give(ask('b', '10.0.7.7'), closed)).toBe('10.0.7.7/16');
    expect(await give(ask('a'), closed)).toBe('Exhausted');
    expect(names()).toEqual(['br-10.0.7.0-16']);
  });

  it('goes on in the next pool that has something to give', async () => {
    const { give, names } = world();
    const sparse = {
      ...range,
      cidr: '10.0.0.0/16',
      exclude: [
        '10.0.0.4/30',
        '10.0.0.8/29',
        '10.0.0.16/28',
        '10.0.0.32/27',
        '10.0.0.64/26',
        '10.0.0.128/25',
        '10.0.1.0/24',
      ],
    };
    await give(ask('named', '10.0.1.7'), sparse);
    expect(await Promise.all(['a', 'b', 'c'].map((pod) => give(ask(pod), sparse)))).toEqual([
      '10.0.0.2/16',
      '10.0.0.3/16',
      '10.0.2.0/16',
    ]);
    expect(names().toSorted()).toEqual(['br-10.0.0.0-16', 'br-10.0.1.0-16', 'br-10.0.2.0-16']);
  });
});

/** PodNetworks of pods that have these addresses on bridge `br`. */
const networks = (addresses: Record<string, string>): PodNetwork[] =>
  Object.entries(addresses).map(([name, address]) => ({
    apiVersion: podNetworkKind.apiVersion,
    kind: 'PodNetwork',
    metadata: { name, namespace: 'ns' },
    spec: {
      podUid: `uid-${name}`,
      nodeName: 'n1',
      interfaces: [
        {
          key: 'PodConfig/c/pc0',
          namePrefix: 'pc0',
          linkType: 'veth',
          source: { apiVersion: 'v1', kind: 'PodConfig', name: 'c' },
          addresses: [address],
          bridge: { name: 'br', device: 'br', gateways: ['10.0.0.1/24'], home: 'node' },
          routes: [],
        },
      ],
    },
  }));

const rebuild = ({ addresses, pools }: ReturnType<typeof world>, had: Record<string, string>): void => {
  const caches = { podNetworks: { list: () => networks(had) }, pools } as unknown as Caches;
  rebuildPools({ caches, allocator: addresses, log: silentLog });
};

describe('rebuilding', () => {
  it('records what PodNetworks have before anything else of the range is given', async () => {
    const w = world();
    rebuild(w, { a: '10.0.0.2/24', b: '10.0.0.3/24' });
    expect(await w.give(ask('new'))).toBe('10.0.0.4/24');
    expect(w.recorded()).toEqual(['a 10.0.0.2', 'b 10.0.0.3', 'new 10.0.0.4']);
  });

  it('counts what a pool has of a former leader or of a pod that gave it back as nobody of now', async () => {
    const w = world();
    await w.give(ask('a'));
    w.tell();
    // This one came from the stock of the first term, which the second took over before it heard of it.
    expect(await w.another().allocate('ns', range, ask('c'))).toEqual({ address: '10.0.0.35/24' });
    w.tell();
    await w.clock.advance(130_000);
    const third = w.another();
    rebuild({ ...w, addresses: third }, { d: '10.0.0.3/24' });
    expect(await third.allocate('ns', range, ask('new'))).toEqual({ address: '10.0.0.4/24' });
  });

  it('leaves the range as its pools have it', async () => {
    const w = world();
    await w.give(ask('a'), { ...range, gateway: '10.0.0.9', exclude: ['10.0.0.0/29'] });
    w.tell();
    rebuild(w, { b: '10.0.0.20/24' });
    await w.clock.advance(500);
    expect(w.recorded()).toEqual(['a 10.0.0.8', 'b 10.0.0.20']);
    expect(w.specOf('br-10.0.0.0-24')).toMatchObject({ gateway: '10.0.0.9', exclude: ['10.0.0.0/29'] });
  });

  it('is tried until it succeeds, less and less often, while that range gives nothing and others do', async () => {
    const w = world();
    w.shut.set('br-10.0.0.0-24', new Unavailable('API_FORBIDDEN', 'The namespace is being terminated'));
    rebuild(w, { a: '10.0.0.2/24', b: '10.1.0.2/24' });
    await w.clock.advance(500);
    expect(w.recorded('10.1.0.0/24')).toEqual(['b 10.1.0.2']);
    expect(await w.give(ask('other'), { network: 'br', cidr: '10.1.0.0/24' })).toBe('10.1.0.3/24');
    await expect(w.give(ask('new'))).rejects.toThrow('terminated');
    await w.clock.advance(1_000);
    w.shut.clear();
    await w.clock.advance(1_999);
    expect(w.recorded()).toEqual([]);
    await w.clock.advance(1);
    expect(w.recorded()).toEqual(['a 10.0.0.2']);
    expect(await w.give(ask('new'))).toBe('10.0.0.3/24');
  });

  it('ends when the namespace is gone', async () => {
    const w = world();
    w.shut.set('br-10.0.0.0-24', new InvalidInput('API_NOT_FOUND', 'There is no such namespace'));
    rebuild(w, { a: '10.0.0.2/24' });
    expect(w.clock.pending).toBe(1);
    await w.clock.advance(500);
    expect(w.clock.pending).toBe(0);
  });
});
