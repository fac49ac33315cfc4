/** The moments between a write and the watch that tells of it, which no real server can be made to stretch: here the watch tells when the test says so. */
import { type IPPool, Unavailable, formatIp, ipPoolKind, parseCidr } from '@podloom/api';
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
import type { Claim } from './claims.ts';

const range: NetworkRange = { network: 'br', cidr: '10.0.0.0/24' };
const ask = (pod: string, address?: string): PoolRequest => ({
  podName: pod,
  podUid: `uid-${pod}`,
  interfaceKey: 'PodConfig/c/pc0',
  ...(address === undefined ? {} : { address }),
});

const stale = new Unavailable('API_STALE', 'The object has changed');
const notFound = new Unavailable('API_NOT_FOUND', 'There is no such object');

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
  /** What PodNetworks have. */
  let claimed: readonly Claim[] = [];
  /** What happens to the answer of the next write. */
  let answering: (() => Promise<void>) | undefined;
  async function store(pool: IPPool): Promise<IPPool> {
    const { name = '' } = pool.metadata;
    version += 1;
    const uid = stored.get(name)?.metadata.uid ?? `uid-${version}`;
    const written = { ...pool, metadata: { ...pool.metadata, uid, resourceVersion: String(version) } };
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
      const found = stored.get(name);
      if (!found) throw notFound;
      return found;
    },
    update: (_: unknown, pool: IPPool, { subresource }: { subresource?: string } = {}) => {
      const before = stored.get(pool.metadata.name ?? '');
      if (!before) return Promise.reject(notFound);
      if (pool.metadata.resourceVersion !== before.metadata.resourceVersion) return Promise.reject(stale);
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
  const clock = manualClock(Date.now());
  const lost: ObjectKey[] = [];
  const signal = new AbortController().signal;
  /** Another term of leadership on the same server. */
  const another = () =>
    allocator({
      client,
      pools,
      claims: (_, network) => claimed.filter((claim) => claim.network === network),
      clock,
      log: silentLog,
      signal,
      lost: (pod) => lost.push(pod),
    });
  const addresses = another();
  return {
    addresses,
    another,
    clock,
    lost,
    /** PodNetworks have these addresses: by pod, with prefix length. */
    claim: (had: Record<string, string>, network = 'br') => {
      claimed = Object.entries(had).map(([pod, text]) => {
        const [address = '', length] = text.split('/');
        const { family, first } = parseCidr(text);
        const cidr = `${formatIp({ family, value: first })}/${length}`;
        return { network, cidr, request: { ...ask(pod), address, hasIt: true } };
      });
    },
    give: async (request: PoolRequest, of = range): Promise<string> => {
      const result = await addresses.allocate('ns', of, request);
      return 'address' in result ? result.address : result.failed;
    },
    giveBack: async (...podNames: string[]) => {
      for (const pod of podNames) await addresses.release(objectKey(pod, 'ns'), () => true);
    },
    tell: () => {
      const gone = [...heard].filter(([, { metadata }]) => !stored.has(metadata.name ?? ''));
      for (const [key, old] of gone) {
        heard.delete(key);
        for (const listener of listeners) listener({ key, old, now: undefined });
      }
      for (const now of stored.values()) {
        const key = keyOf(now);
        const change = { key, old: heard.get(key), now } as Change<IPPool>;
        heard.set(key, now);
        for (const listener of listeners) listener(change);
      }
    },
    /** Someone deletes all pools. */
    deletePools: () => stored.clear(),
    /** The next write is done, and its answer lost. */
    loseAnswer: () => {
      answering = () => Promise.reject(new Unavailable('TEST', 'The connection broke before the answer came'));
    },
    /** Someone else writes a pool: whose copy is older is told so. */
    touch: (name: string) => store(stored.get(name)!),
    turn: (name: string, change: (pool: IPPool) => IPPool) => store(change(stored.get(name)!)),
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

/** The pool as it is when another pod has the first address. */
const hadBy =
  (pod: string) =>
  (pool: IPPool): IPPool => {
    const entry = { address: '10.0.0.2', podName: pod, podUid: `uid-${pod}`, interfaceKey: 'key' };
    return { ...pool, status: { ...pool.status, allocations: [entry] } };
  };

describe('an allocator', () => {
  it('writes the pool before anyone has the address, and one write for all who wait meanwhile', async () => {
    const { give, holdAnswer, recorded, version } = world();
    await give(ask('a'));
    const { reached, open } = holdAnswer();
    const before = version();
    const first = give(ask('b'));
    await reached.promise;
    const others = ['c', 'd', 'e'].map((pod) => give(ask(pod)));
    open.resolve();
    expect(await first).toBe('10.0.0.3/24');
    expect(await Promise.all(others)).toEqual(['10.0.0.4/24', '10.0.0.5/24', '10.0.0.6/24']);
    expect(recorded()).toEqual(['a 10.0.0.2', 'b 10.0.0.3', 'c 10.0.0.4', 'd 10.0.0.5', 'e 10.0.0.6']);
    expect(version() - before).toBe(2);
  });

  it('gives the same address to who asks again, once a write has shown that the copy is not old', async () => {
    const { addresses, clock, give, version } = world();
    expect(await give(ask('a'))).toBe('10.0.0.2/24');
    const before = version();
    expect(await give(ask('a'))).toBe('10.0.0.2/24');
    expect(version()).toBe(before + 1);
    expect(addresses.has('ns', range, ask('a', '10.0.0.2'))).toBe(true);
    expect(addresses.has('ns', range, ask('b', '10.0.0.2'))).toBe(false);
    expect(version()).toBe(before + 1);
    expect(clock.pending).toBe(0);
  });

  it('gives nobody by an old copy what somebody else has had since', async () => {
    const { give, names, turn } = world();
    await give(ask('a'));
    await turn(names()[0] ?? '', hadBy('b'));
    expect(await give(ask('a'))).toBe('10.0.0.3/24');
  });

  it('takes back what it gave of a pool of which the watch has not told yet', async () => {
    const { addresses, give, giveBack, recorded } = world();
    await give(ask('a'));
    expect(addresses.heldBy(objectKey('a', 'ns'))).toMatchObject([
      { entry: { address: '10.0.0.2' }, range: { network: 'br', cidr: '10.0.0.0/24' } },
    ]);
    await giveBack('a');
    expect(recorded()).toEqual(['a 10.0.0.2 given back']);
    expect(addresses.heldBy(objectKey('a', 'ns'))).toEqual([]);
  });

  it('gives nothing that another operator has given meanwhile', async () => {
    const { another, give, tell } = world();
    await give(ask('a'));
    tell();
    expect(await another().allocate('ns', range, ask('b'))).toEqual({ address: '10.0.0.3/24' });
    expect(await give(ask('c'))).toBe('10.0.0.4/24');
  });

  it('gives nothing that a write may have given whose answer never came', async () => {
    const { give, tell, loseAnswer, recorded } = world();
    await give(ask('a'));
    tell();
    loseAnswer();
    await expect(give(ask('b'))).rejects.toThrow('before the answer came');
    expect(recorded()).toEqual(['a 10.0.0.2', 'b 10.0.0.3']);
    expect(await give(ask('c'))).toBe('10.0.0.4/24');
    expect(await give(ask('b'))).toBe('10.0.0.3/24');
    expect(recorded()).toEqual(['a 10.0.0.2', 'b 10.0.0.3', 'c 10.0.0.4']);
  });
});

describe('a pool that someone deletes', () => {
  it('is made again with what PodNetworks have, before it gives anything', async () => {
    const { claim, deletePools, give, recorded, tell } = world();
    await give(ask('a'));
    await give(ask('b'));
    tell();
    claim({ a: '10.0.0.2/24', b: '10.0.0.3/24' });
    deletePools();
    tell();
    expect(await give(ask('new'))).toBe('10.0.0.4/24');
    expect(recorded()).toEqual(['a 10.0.0.2', 'b 10.0.0.3', 'new 10.0.0.4']);
  });

  it('is made again so also by who has not heard of it yet', async () => {
    const { claim, deletePools, give, recorded, tell } = world();
    await give(ask('a'));
    tell();
    claim({ a: '10.0.0.2/24' });
    deletePools();
    expect(await give(ask('new'))).toBe('10.0.0.3/24');
    expect(recorded()).toEqual(['a 10.0.0.2', 'new 10.0.0.3']);
  });

  it('gives to nobody else what was just handed out or given back, until that has cooled down', async () => {
    const { clock, deletePools, give, giveBack, tell } = world();
    await give(ask('a'));
    await give(ask('b'));
    await giveBack('a');
    tell();
    deletePools();
    tell();
    expect(await give(ask('new'))).toBe('10.0.0.4/24');
    // The pod of which no PodNetwork told yet has it all the same.
    expect(await give(ask('b', '10.0.0.3'))).toBe('10.0.0.3/24');
    expect(await give(ask('thief', '10.0.0.2'))).toBe('AddressTaken');
    await clock.advance(60_000);
    expect(await give(ask('late'))).toBe('10.0.0.2/24');
  });

  it('lets every pod be looked at that it had an address for', async () => {
    const { deletePools, give, giveBack, lost, tell } = world();
    await give(ask('a'));
    await give(ask('b'));
    await giveBack('b');
    tell();
    expect(lost).toEqual([]);
    deletePools();
    tell();
    expect(lost).toEqual(['ns/a']);
  });
});

describe('a pool from which someone takes an entry', () => {
  it('has it again with the next write, as the PodNetwork says', async () => {
    const { claim, give, lost, recorded, tell, turn } = world();
    await give(ask('a'));
    await give(ask('b'));
    tell();
    claim({ a: '10.0.0.2/24', b: '10.0.0.3/24' });
    await turn('br-10.0.0.0-24', ({ status, ...pool }) => ({
      ...pool,
      status: { ...status, allocations: status?.allocations?.filter(({ podName }) => podName !== 'a') },
    }));
    tell();
    expect(lost).toEqual(['ns/a']);
    expect(await give(ask('new'))).toBe('10.0.0.4/24');
    expect(recorded()).toEqual(['a 10.0.0.2', 'b 10.0.0.3', 'new 10.0.0.4']);
  });
});

describe('a range that is declared otherwise', () => {
  it('gives nothing that is excluded since', async () => {
    const { addresses, give, tell, recorded } = world();
    await give(ask('a'));
    tell();
    const turned = { ...range, exclude: ['10.0.0.0/25'] };
    // The look at the pod that has an address is what tells the pool.
    expect(addresses.has('ns', turned, ask('a', '10.0.0.2'))).toBe(false);
    expect(await give(ask('a', '10.0.0.2'), turned)).toBe('10.0.0.2/24');
    tell();
    expect(addresses.has('ns', turned, ask('a', '10.0.0.2'))).toBe(true);
    expect(await give(ask('b'), turned)).toBe('10.0.0.128/24');
    expect(recorded()).toEqual(['a 10.0.0.2', 'b 10.0.0.128']);
  });

  it('is what who asks last says', async () => {
    const { give, specOf } = world();
    await give(ask('a'));
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

  it('takes from a pod what is the gateway now', async () => {
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

  it('leaves everyone the address of the narrower range, and gives none of them to others', async () => {
    const { addresses, give, giveBack, tell, recorded } = world();
    const narrow = { network: 'br', cidr: '10.0.0.0/27' };
    await give(ask('a'), narrow);
    await give(ask('gone'), narrow);
    tell();
    await giveBack('gone');
    tell();
    expect(await give(ask('late'))).toBe('10.0.0.4/24');
    expect(await give(ask('a', '10.0.0.2'))).toBe('10.0.0.2/24');
    expect(await give(ask('thief', '10.0.0.2'))).toBe('AddressTaken');
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
    const thief = give(ask('thief', '10.0.0.100'));
    open.resolve();
    expect(await named).toBe('10.0.0.100/25');
    expect(await thief).toBe('AddressTaken');
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

describe('what PodNetworks have', () => {
  it('is recorded before anything else of the range is given', async () => {
    const { claim, give, recorded } = world();
    claim({ a: '10.0.0.2/24', b: '10.0.0.3/24' });
    expect(await give(ask('new'))).toBe('10.0.0.4/24');
    expect(recorded()).toEqual(['a 10.0.0.2', 'b 10.0.0.3', 'new 10.0.0.4']);
  });

  it('goes before who asks for the same address by name', async () => {
    const { claim, give, recorded } = world();
    claim({ a: '10.0.0.2/24' });
    expect(await give(ask('named', '10.0.0.2'))).toBe('AddressTaken');
    expect(recorded()).toEqual(['a 10.0.0.2']);
  });

  it('is recorded also in pools that are not there', async () => {
    const { claim, give, names } = world();
    const large = { network: 'br', cidr: '10.0.0.0/16' };
    claim({ a: '10.0.3.9/16' });
    expect(await give(ask('new'), large)).toBe('10.0.0.2/16');
    expect(names().toSorted()).toEqual(['br-10.0.0.0-16', 'br-10.0.3.0-16']);
  });

  it('of the narrower range before is given to nobody else, though its pool is gone', async () => {
    const { claim, give } = world();
    claim({ a: '10.0.0.2/27' });
    expect(await give(ask('b'))).toBe('10.0.0.3/24');
    expect(await give({ ...ask('a', '10.0.0.2'), hasIt: true })).toBe('10.0.0.2/24');
  });

  it('is nothing that a pool has another owner for, and keeps nobody from being served', async () => {
    const { claim, give, recorded } = world();
    await give(ask('a'));
    claim({ b: '10.0.0.2/24' });
    expect(await give(ask('c'))).toBe('10.0.0.3/24');
    expect(recorded()).toEqual(['a 10.0.0.2', 'c 10.0.0.3']);
  });
});
