/** Many pods at once, and operators that stop, die and compete: no address twice, nothing lost, few writes. */
import type { PodNetwork } from '@podloom/api';
import { Unavailable } from '@podloom/api';
import { leases } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { slowClock } from './clock.ts';
import type { RunningOperator } from './operator.ts';
import { type World, world } from './world.ts';
import { seeingWrites } from './writes.ts';

const range = [{ name: 'pc0', master: 'pcbr0', cidr: '10.70.0.0/22' }];
const addressesIn = (networks: readonly PodNetwork[]): string[] =>
  networks.flatMap(({ spec }) => spec.interfaces.flatMap(({ addresses }) => addresses));

/** Makes them known to the operator all at once: they run already, and the object comes last. */
async function manyPods(w: World, howMany: number, prefix = 'p'): Promise<void> {
  const names = Array.from({ length: howMany }, (_, i) => `${prefix}${i}`);
  await Promise.all(names.map((name) => w.pod(name, { podconfig: 'c' })));
}

async function expectAllServed(w: World, howMany: number): Promise<void> {
  await eventually(async () => {
    const addresses = addressesIn(await w.networks());
    expect(addresses).toHaveLength(howMany);
    expect(new Set(addresses).size).toBe(howMany);
  });
  await eventually(async () => {
    const pools = await w.pools();
    const recorded = pools.flatMap(({ status }) => status?.allocations ?? []).filter(({ releasedAt }) => !releasedAt);
    const inUse = addressesIn(await w.networks()).map((address) => address.split('/')[0] ?? '');
    expect(recorded.map(({ address }) => address).toSorted()).toEqual(inUse.toSorted());
  });
}

describe('two hundred pods at once', () => {
  it('each have an address of their own, for few writes; and a new leader finds nothing to write', async () => {
    const w = await world();
    const writes: string[] = [];
    const wrap = (client: World['client']) =>
      seeingWrites(client, (verb, plural) => void writes.push(`${verb} ${plural}`));
    await w.agent();
    await manyPods(w, 200);
    // What is under way is told once in a while. By this clock that is seldom enough for a bound that is the same on any machine.
    const first = await w.operator({ wrap, clock: slowClock(5), settings: { leaseDuration: '1h' } });
    await eventually(() => expect(writes.some((one) => one.endsWith('leases'))).toBe(true));
    await w.config('c', range);
    await expectAllServed(w, 200);
    await eventually(async () => {
      const { status } = (await w.getConfig('c'))!;
      expect(status?.phase).toBe('configured');
      expect(status?.podConfigurations).toHaveLength(200);
    });

    const count = (plural: string) => writes.filter((one) => one.endsWith(` ${plural}`)).length;
    expect(writes.filter((one) => one.endsWith(' podnetworks'))).toEqual(Array(200).fill('create podnetworks'));
    expect(count('ippools')).toBeLessThanOrEqual(20);
    expect(count('podconfigs')).toBeLessThanOrEqual(20);
    await eventually(() => expect(count('events')).toBeGreaterThanOrEqual(200));
    const others = writes.filter((one) => !one.endsWith('leases') && !one.endsWith('podconfigs'));
    expect(others.length).toBeLessThanOrEqual(2.2 * 200);

    await first.stop();
    const versions = async (): Promise<unknown> =>
      (await w.networks())
        .filter(({ metadata }) => metadata.name !== 'last')
        .map(({ metadata }) => [metadata.name, metadata.resourceVersion]);
    const before = await versions();
    writes.length = 0;
    await w.operator({ wrap });
    // One more pod tells that it has looked at everything else.
    await w.pod('last', { podconfig: 'c' });
    await eventually(async () => expect((await w.getConfig('c'))?.status?.podConfigurations).toHaveLength(201));
    // The object is written once when the pod is attached soon, and once more when it is not; the pool once, for that pod.
    expect(count('ippools')).toBe(1);
    expect(count('podconfigs')).toBeLessThanOrEqual(2);
    expect([...new Set(writes.filter((one) => !/ (leases|events)$/.test(one)))].toSorted()).toEqual([
      expect.stringMatching(/podconfigs$/),
      'create podnetworks',
      'update ippools',
    ]);
    expect(writes.filter((one) => one === 'create podnetworks')).toHaveLength(1);
    expect(await versions()).toEqual(before);
  });
});

describe('an object among many', () => {
  it('brings only those pods under review that it concerns', async () => {
    const w = await world();
    const { metrics } = await w.operator();
    await w.agent();
    await w.config('c', range);
    await manyPods(w, 30);
    await w.pod('z', { podconfig: 'd' });
    await expectAllServed(w, 30);
    await eventually(async () => expect((await w.getConfig('c'))?.status?.podConfigurations).toHaveLength(30));
    const looks = async (): Promise<number> =>
      [...(await metrics.text()).matchAll(/^podloom_reconciles_total\{.*controller="pods".*\} (\d+)$/gm)].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      );
    const isConflicted = async (): Promise<boolean> =>
      (await w.getConfig('c'))?.status?.conditions?.some(({ type }) => type === 'Conflict') ?? false;
    const before = await looks();
    await w.config('d', [{ name: 'x0', master: 'xbr', cidr: '10.71.0.0/24' }]);
    await eventually(async () => expect((await w.getConfig('d'))?.status?.phase).toBe('configured'));
    expect((await looks()) - before).toBeGreaterThan(0);
    expect((await looks()) - before).toBeLessThan(30);
    // Also on the same bridge, which is what it was.
    const again = await looks();
    await w.pod('y', { podconfig: 'e' });
    await w.config('e', [{ name: 'y0', master: 'pcbr0', cidr: '10.70.0.0/22' }]);
    await eventually(async () => expect((await w.getConfig('e'))?.status?.phase).toBe('configured'));
    expect((await looks()) - again).toBeGreaterThan(0);
    expect((await looks()) - again).toBeLessThan(30);
    // An object that wants the bridge otherwise concerns all that are on it, though it chooses no pod itself.
    const then = await looks();
    expect(await isConflicted()).toBe(false);
    await w.config('f', [{ name: 'w0', master: 'pcbr0', cidr: '10.72.0.0/24' }]);
    await eventually(async () => expect((await looks()) - then).toBeGreaterThanOrEqual(30));
    await eventually(async () => expect(await isConflicted()).toBe(true));
    await w.removeConfig('f');
    await eventually(async () => expect(await isConflicted()).toBe(false));
  });
});

describe('operators', () => {
  it('that change the lead in the middle of the work hand out no address twice', async () => {
    const w = await world();
    await w.agent();
    await w.config('c', range);
    const operators = new Map<string, RunningOperator>();
    for (const identity of ['one', 'two', 'three']) {
      operators.set(identity, await w.operator({ settings: { leaseDuration: '4s', identity } }));
    }
    const leader = async (): Promise<RunningOperator> => {
      const { spec } = await w.client.get(leases, 'podloom-network-operator', { namespace: w.namespace });
      return operators.get(spec?.holderIdentity?.split('-')[0] ?? '')!;
    };
    const work = manyPods(w, 60);
    await eventually(async () => expect((await w.networks()).length).toBeGreaterThan(5));
    const first = await leader();
    await first.stop();
    await work;
    const more = manyPods(w, 40, 'q');
    await eventually(async () => expect((await w.networks()).length).toBeGreaterThan(65));
    const second = await leader();
    expect(second).not.toBe(first);
    await second.kill();
    await more;
    // However quick the second was, these are left to the third.
    await manyPods(w, 20, 'r');
    await expectAllServed(w, 120);
    expect([first, second]).not.toContain(await leader());
  });

  it('that die between pool and PodNetwork lose nothing and leave nothing', async () => {
    const w = await world();
    await w.agent();
    await w.config('c', range);
    const reached = Promise.withResolvers<void>();
    const dying = await w.operator({
      settings: { leaseDuration: '4s' },
      wrap: (client) =>
        seeingWrites(client, (verb, plural) => {
          if (`${verb} ${plural}` !== 'create podnetworks') return;
          reached.resolve();
          throw new Unavailable('TEST', 'The process ends here');
        }),
    });
    await w.pod('a', { podconfig: 'c' });
    await w.pod('gone', { podconfig: 'c' });
    await reached.promise;
    await eventually(async () => expect((await w.pools())[0]?.status?.used).toBe(2));
    const [entry] = (await w.pools())[0]?.status?.allocations?.filter(({ podName }) => podName === 'a') ?? [];
    await dying.kill();
    await w.removePod('gone');
    await w.operator();
    await eventually(async () => expect(await w.addressesOf('a')).toEqual([`${entry?.address}/22`]));
    await eventually(async () => expect((await w.pools())[0]?.status?.used).toBe(1));
  });

  it('that die after any of their writes end in the declared state', async () => {
    const w = await world();
    await w.agent();
    await w.config('c', range);
    // Each operator has one more pod and is allowed one more write than the one before, until one needs no more than it may.
    let pods = 0;
    for (let hasAll = false; !hasAll;) {
      const allowed = pods;
      let written = 0;
      let isStuck = false;
      const dying = await w.operator({
        settings: { leaseDuration: '4s' },
        wrap: (client) =>
          seeingWrites(client, (_, plural) => {
            if (plural === 'leases') return;
            isStuck ||= written >= allowed;
            if (isStuck) throw new Unavailable('TEST', 'The process ends here');
            written += 1;
          }),
      });
      await w.pod(`a${pods}`, { podconfig: 'c' });
      pods += 1;
      await eventually(async () => {
        const { phase, podConfigurations } = (await w.getConfig('c'))?.status ?? {};
        expect(isStuck || (phase === 'configured' && podConfigurations?.length === pods)).toBe(true);
      });
      hasAll = !isStuck;
      await dying.kill();
    }
    expect(pods).toBeGreaterThan(4);
    await w.operator();
    await expectAllServed(w, pods);
    await w.removeConfig('c');
    await eventually(async () => expect(await w.getConfig('c')).toBeUndefined());
    await eventually(async () => expect([await w.networks(), await w.used()]).toEqual([[], 0]));
  });
});
