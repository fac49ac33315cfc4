import type { IPPool } from '@podloom/api';
import { ipPoolKind } from '@podloom/api';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allocate, coolDownMs } from './allocate.ts';
import { capacityOf, firstGateway, poolCount, poolFor, poolsOf } from './pools.ts';
import { type LivingAddress, release, sweep } from './release.ts';
import type { NetworkRange, PoolRequest } from './types.ts';

const at = (ms: number): string => new Date(Date.UTC(2030, 0, 1) + ms).toISOString();
const now = at(0);

const pools = (range: Partial<NetworkRange> = {}, count = 4): IPPool[] =>
  poolsOf({ network: 'pcbr0', cidr: '192.168.100.0/24', ...range }, count).map(({ name, spec }) => ({
    apiVersion: ipPoolKind.apiVersion,
    kind: 'IPPool',
    metadata: { name, resourceVersion: '1' },
    spec,
  }));
const ask = (pod: string, more: Partial<PoolRequest> = {}): PoolRequest => ({
  podName: pod,
  podUid: `uid-${pod}`,
  interfaceKey: 'pc0',
  ...more,
});
const living = (pod: string, address: string): LivingAddress => ({ ...ask(pod), network: 'pcbr0', address });
const nobody: ReadonlySet<string> = new Set();
const merge = (before: readonly IPPool[], changed: readonly IPPool[]): IPPool[] =>
  before.map((pool) => changed.find(({ metadata }) => metadata.name === pool.metadata.name) ?? pool);
const given = (before: readonly IPPool[], requests: readonly PoolRequest[], time = now): string[] =>
  allocate(before, requests, time).results.map((result) => ('address' in result ? result.address : result.failed));

describe('pools of a range', () => {
  it.each([
    ['192.168.100.0/24', 1n, 253, '192.168.100.1'],
    ['10.0.0.0/16', 256n, 254, '10.0.0.1'],
    ['10.0.0.0/30', 1n, 1, '10.0.0.1'],
    ['10.0.0.0/31', 1n, 2, undefined],
    ['10.0.0.7/32', 1n, 1, undefined],
    ['fd00:1::/64', 1n << 56n, 254, 'fd00:1::1'],
    ['fd00:1::/126', 1n, 2, 'fd00:1::1'],
    ['fd00:1::/127', 1n, 2, undefined],
    ['fd00:1::5/128', 1n, 1, undefined],
  ])('of %s are %s, the first with %s addresses, gateway %s', (cidr, count, capacity, gateway) => {
    const [first] = poolsOf({ network: 'n', cidr }, 1);
    expect([poolCount(cidr), capacityOf(first!.spec), firstGateway(cidr)]).toEqual([count, capacity, gateway]);
  });

  it('have names that the API takes and that no two pools share', () => {
    const ranges = ['10.0.0.0/16', '10.0.0.0/17', 'fd00:1::/64', 'fd00:1::/65', 'fd00:1:1::/64', '::/8'];
    const networks = ['pcbr0', 'PCBR0', 'a_b', 'a.b', 'ü'];
    const all = networks.flatMap((network) => ranges.flatMap((cidr) => poolsOf({ network, cidr }, 3)));
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    for (const { name } of all)
      expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  });

  it('are valid objects', () => {
    for (const pool of pools({ cidr: 'fd00:1::/64' })) expect(() => ipPoolKind.parse(pool)).not.toThrow();
  });

  it('are found by an address', () => {
    const range = { network: 'n', cidr: '10.0.0.0/16' };
    expect(poolFor(range, '10.0.3.7')).toEqual(poolsOf(range, 4)[3]);
    expect(poolFor(range, '10.1.0.0')).toBeUndefined();
  });
});

describe('allocate', () => {
  it('starts behind the gateway, as the documents show', () => {
    expect(given(pools(), [ask('a'), ask('b')])).toEqual(['192.168.100.2/24', '192.168.100.3/24']);
  });

  it('gives a pod the address that it has', () => {
    const after = merge(pools(), allocate(pools(), [ask('a'), ask('b')], now).changed);
    expect(given(after, [ask('b'), ask('a')])).toEqual(['192.168.100.3/24', '192.168.100.2/24']);
    expect(allocate(after, [ask('b'), ask('a')], now).changed).toEqual([]);
  });

  it('leaves out exclusions, unless someone asks for one of them', () => {
    const range = pools({ exclude: ['192.168.100.0/30'] });
    expect(given(range, [ask('a'), ask('b', { address: '192.168.100.3' })])).toEqual([
      '192.168.100.4/24',
      '192.168.100.3/24',
    ]);
  });

  it('serves static requests of a batch before others can take their address', () => {
    expect(given(pools(), [ask('a'), ask('b', { address: '192.168.100.2' })])).toEqual([
      '192.168.100.3/24',
      '192.168.100.2/24',
    ]);
  });

  it.each([
    ['AddressTaken', '192.168.100.2'],
    ['AddressOutsideRange', '192.168.100.1'],
    ['AddressOutsideRange', '192.168.100.255'],
    ['AddressOutsideRange', '10.0.0.1'],
  ])('says %s for a static %s', (reason, address) => {
    const after = merge(pools(), allocate(pools(), [ask('a')], now).changed);
    expect(given(after, [ask('b', { address })])).toEqual([reason]);
  });

  it('says Exhausted to those who come too late, and serves the others', () => {
    const tiny = pools({ cidr: '10.0.0.0/30' });
    expect(given(tiny, [ask('a'), ask('b')])).toEqual(['10.0.0.2/30', 'Exhausted']);
  });

  it('goes on in the next pool when one is full', () => {
    const two = pools({ cidr: '10.0.0.0/16' }, 2);
    const many = Array.from({ length: 300 }, (_, i) => ask(`p${i}`));
    const addresses = given(two, many);
    expect(new Set(addresses).size).toBe(300);
    expect(addresses.slice(253, 255)).toEqual(['10.0.0.255/16', '10.0.1.0/16']);
  });

  it('lets an address cool down before another pod gets it, and gives it back to its own at once', () => {
    const tiny = pools({ cidr: '10.0.0.0/30' });
    const taken = merge(tiny, allocate(tiny, [ask('a')], now).changed);
    const freed = merge(
      taken,
      release(taken, ({ podUid }) => podUid === 'uid-a', now),
    );
    expect(given(freed, [ask('b')], at(coolDownMs - 1))).toEqual(['Exhausted']);
    expect(given(freed, [ask('a')], at(coolDownMs - 1))).toEqual(['10.0.0.2/30']);
    expect(given(freed, [ask('b')], at(coolDownMs))).toEqual(['10.0.0.2/30']);
  });

  it('counts what is used and free', () => {
    const [pool] = allocate(pools(), [ask('a')], now).changed;
    expect(pool?.status).toMatchObject({ used: 1, free: 252 });
  });
});

describe('sweep', () => {
  it('rebuilds an empty pool from the PodNetworks', () => {
    const [swept] = sweep(pools(), [living('a', '192.168.100.9/24')], nobody, now);
    expect(swept?.status?.allocations).toEqual([{ address: '192.168.100.9', ...ask('a') }]);
  });

  it('gives back what no PodNetwork has, forgets what has cooled down, and then rests', () => {
    const taken = merge(pools(), allocate(pools(), [ask('a')], now).changed);
    const leaked = merge(taken, sweep(taken, [], nobody, now));
    expect(leaked[0]?.status?.allocations).toMatchObject([{ address: '192.168.100.2', releasedAt: now }]);
    expect(sweep(leaked, [], nobody, at(1))).toEqual([]);
    const cooled = merge(leaked, sweep(leaked, [], nobody, at(coolDownMs)));
    expect(cooled[0]?.status?.allocations).toEqual([]);
    expect(sweep(cooled, [], nobody, at(coolDownMs))).toEqual([]);
  });

  it('spares what belongs to a pod that exists: its PodNetwork may be on its way', () => {
    const taken = merge(pools(), allocate(pools(), [ask('a')], now).changed);
    expect(sweep(taken, [], new Set(['uid-a']), now)).toEqual([]);
  });

  it('changes nothing where pools and PodNetworks agree', () => {
    const taken = merge(pools(), allocate(pools(), [ask('a')], now).changed);
    expect(sweep(taken, [living('a', '192.168.100.2')], nobody, now)).toEqual([]);
  });
});

/**
 * Two leaders with copies of any age. A pod's address is used from the moment its PodNetwork is written, which happens some time after
 * the pool was written. A crash is a PodNetwork that never comes.
 */
type Action =
  | { readonly do: 'read'; readonly who: 0 | 1 }
  | { readonly do: 'allocate'; readonly who: 0 | 1; readonly pods: readonly number[] }
  | { readonly do: 'writePodNetwork'; readonly crash: boolean }
  | { readonly do: 'remove'; readonly pod: number }
  | { readonly do: 'sweep'; readonly who: 0 | 1 }
  | { readonly do: 'wait'; readonly ms: number };

const anyWho = fc.constantFrom<0 | 1>(0, 1);
/** Weighted so that most stories get as far as two leaders racing for an address, and some as far as its second owner. */
const anyAction: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('read' as const), who: anyWho }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('allocate' as const),
      who: anyWho,
      pods: fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('writePodNetwork' as const),
      crash: fc.constantFrom(false, false, false, true),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), pod: fc.nat(5) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('sweep' as const), who: anyWho }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, coolDownMs - 1, coolDownMs) }),
  },
);
// fast-check's own choice of length would be five: too short for anyone to race.
const story = fc.array(anyAction, { minLength: 30, maxLength: 80, size: 'max' });

class Cluster {
  server = pools({ cidr: '10.0.0.0/29' });
  readonly copies: [IPPool[], IPPool[]] = [this.server, this.server];
  /** PodNetworks by pod, and those that are written to pools but not yet to the API. */
  readonly living = new Map<string, LivingAddress>();
  onTheirWay: LivingAddress[] = [];
  /** When an address was last in use, and by whom. */
  readonly lastUsed = new Map<string, { readonly uid: string; readonly ms: number }>();
  readonly violations: string[] = [];
  /** How much happened: writes refused, PodNetworks written, addresses that went on to another pod. */
  refused = 0;
  used = 0;
  inherited = 0;
  ms = 0;
  readonly #lives = [0, 0, 0, 0, 0, 0];

  pod = (n: number): string => `p${n}-${this.#lives[n]}`;
  pods = (): Set<string> => new Set(this.#lives.map((_, n) => ask(this.pod(n)).podUid));

  /** Compare-and-swap of each pool: false where a copy is stale. */
  write(changed: readonly IPPool[]): boolean {
    const isFresh = ({ metadata }: IPPool): boolean =>
      this.server.some(
        (pool) => pool.metadata.name === metadata.name && pool.metadata.resourceVersion === metadata.resourceVersion,
      );
    if (!changed.every(isFresh)) {
      this.refused += 1;
      return false;
    }
    const stored = changed.map((pool): IPPool => {
      const resourceVersion = String(Number(pool.metadata.resourceVersion) + 1);
      return Object.assign({ ...pool }, { metadata: Object.assign({ ...pool.metadata }, { resourceVersion }) });
    });
    this.server = merge(this.server, stored);
    return true;
  }

  act(action: Action): void {
    switch (action.do) {
      case 'read':
        this.copies[action.who] = this.server;
        return;
      case 'wait':
        this.ms += action.ms;
        return;
      case 'remove': {
        const pod = this.pod(action.pod);
        const had = this.living.get(pod);
        if (had) this.lastUsed.set(had.address, { uid: had.podUid, ms: this.ms });
        this.living.delete(pod);
        this.onTheirWay = this.onTheirWay.filter(({ podName }) => podName !== pod);
        this.#lives[action.pod]! += 1;
        return;
      }
      case 'sweep':
        this.write(sweep(this.copies[action.who], [...this.living.values()], this.pods(), at(this.ms)));
        return;
      case 'allocate': {
        const requests = action.pods.map((n) => ask(this.pod(n)));
        const { changed, results } = allocate(this.copies[action.who], requests, at(this.ms));
        if (!this.write(changed)) return;
        results.forEach((result, i) => {
          if ('address' in result) this.onTheirWay.push({ ...requests[i]!, network: 'pcbr0', address: result.address });
        });
        return;
      }
      case 'writePodNetwork': {
        const next = this.onTheirWay.shift();
        if (next && !action.crash) this.use(next);
      }
    }
  }

  use(entry: LivingAddress): void {
    const rival = [...this.living.values()].find(
      ({ address, podUid }) => address === entry.address && podUid !== entry.podUid,
    );
    if (rival) this.violations.push(`${entry.address}: ${rival.podName} and ${entry.podName}`);
    const before = this.lastUsed.get(entry.address);
    this.used += 1;
    if (before && before.uid !== entry.podUid) this.inherited += 1;
    if (before && before.uid !== entry.podUid && this.ms - before.ms < coolDownMs)
      this.violations.push(`${entry.address} is warm`);
    this.living.set(entry.podName, entry);
  }
}

const play = (actions: readonly Action[]): Cluster => {
  const cluster = new Cluster();
  for (const action of actions) cluster.act(action);
  return cluster;
};

describe('two leaders, crashes and retries', () => {
  it('never give one address to two pods, nor to another before it has cooled down', () => {
    fc.assert(
      fc.property(story, (actions) => {
        expect(play(actions).violations).toEqual([]);
      }),
      { numRuns: 1000 },
    );
  });

  it('are told in stories in which addresses are really fought over', () => {
    const told = fc.sample(story, { numRuns: 200, seed: 1 }).map(play);
    const count = (what: (cluster: Cluster) => number): number => told.reduce((sum, cluster) => sum + what(cluster), 0);
    expect(count(({ refused }) => refused)).toBeGreaterThan(200);
    expect(count(({ used }) => used)).toBeGreaterThan(1000);
    expect(count(({ inherited }) => inherited)).toBeGreaterThan(20);
  });

  it('end with pools that have every living address and none of a pod that is no more', () => {
    fc.assert(
      fc.property(story, (actions) => {
        const cluster = play(actions);
        for (let round = 0; round < 2; round += 1) {
          cluster.act({ do: 'read', who: 0 });
          cluster.act({ do: 'sweep', who: 0 });
          cluster.ms += coolDownMs;
        }
        const held = cluster.server.flatMap(({ status }) => status?.allocations ?? []);
        const holders = held.map(({ podName, address }) => `${podName} ${address}/29`);
        expect(holders).toEqual(
          expect.arrayContaining([...cluster.living].map(([pod, { address }]) => `${pod} ${address}`)),
        );
        expect(held.filter(({ podUid }) => !cluster.pods().has(podUid))).toEqual([]);
      }),
    );
  });
});
