/** Addresses that the leader set aside, so that a pod need not wait until a pool has recorded its own. */
import { Unavailable } from '@podloom/api';
import type { Client } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { world, type World } from './world.ts';
import { seeingWrites } from './writes.ts';

const attachment = { name: 'pc0', master: 'br', cidr: '10.66.0.0/24' };

/** Pod `first` has an address, and with the write of it the leader has a stock. */
async function stocked(wrap: (client: Client) => Client): Promise<{ w: World; kill: () => Promise<void> }> {
  const w = await world();
  await w.agent();
  const operator = await w.operator({ settings: { leaseDuration: '4s' }, wrap });
  await w.config('c', [attachment]);
  await w.pod('first', { podconfig: 'c' });
  await eventually(async () => expect(await w.addressesOf('first')).toEqual(['10.66.0.2/24']));
  await eventually(async () => expect((await w.pools())[0]?.status?.stock?.addresses).toHaveLength(32));
  return { w, kill: () => operator.kill() };
}

const recorded = async (w: World): Promise<string[]> =>
  (await w.pools()).flatMap(({ status }) =>
    (status?.allocations ?? []).flatMap(({ podName, address, releasedAt }) =>
      releasedAt === undefined ? [`${podName} ${address}`] : [],
    ),
  );

describe('a stock', () => {
  it('serves a pod before the pool knows, and the pool knows after', async () => {
    const door = Promise.withResolvers<void>();
    let isShut = false;
    const { w } = await stocked((client) =>
      seeingWrites(client, async (verb, plural) => {
        if (isShut && `${verb} ${plural}` === 'update ippools') await door.promise;
      }),
    );
    isShut = true;
    await w.pod('second', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('second')).toEqual(['10.66.0.3/24']));
    expect(await recorded(w)).toEqual(['first 10.66.0.2']);
    // Who asks for the same one by name waits for the pool, and is told whose it is.
    await w.config('named', [{ ...attachment, addresses: ['10.66.0.3'] }]);
    await eventually(async () => expect((await w.getConfig('named'))?.status?.conditions).toHaveLength(1));
    await w.pod('third', { podconfig: 'named' });
    // Who comes after it is served, so it has been looked at.
    await w.pod('fourth', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('fourth')).toEqual(['10.66.0.4/24']));
    expect(await w.addressesOf('third')).toEqual([]);
    door.resolve();
    await eventually(async () =>
      expect(await recorded(w)).toEqual(['first 10.66.0.2', 'second 10.66.0.3', 'fourth 10.66.0.4']),
    );
    await eventually(async () => {
      const ready = (await w.getConfig('named'))?.status?.conditions?.find(({ type }) => type === 'Ready');
      expect(ready?.message).toContain('10.66.0.3 belongs to pod second');
    });
  });

  it('is not used where the answer to a write never came, which may have given it away', async () => {
    const door = Promise.withResolvers<void>();
    const unheard = Promise.withResolvers<void>();
    let state: 'open' | 'deaf' | 'shut' = 'open';
    const { w } = await stocked((client) =>
      seeingWrites(
        client,
        async (verb, plural) => {
          if (state === 'shut' && `${verb} ${plural}` === 'update ippools') await door.promise;
        },
        (verb, plural) => {
          if (state !== 'deaf' || `${verb} ${plural}` !== 'update ippools') return;
          state = 'shut';
          unheard.resolve();
          throw new Unavailable('TEST', 'The connection broke before the answer came');
        },
      ),
    );
    state = 'deaf';
    await w.config('named', [{ ...attachment, addresses: ['10.66.0.3'] }]);
    await w.pod('named', { podconfig: 'named' });
    await unheard.promise;
    await w.pod('next', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('next')).toEqual(['10.66.0.4/24']));
    door.resolve();
    await eventually(async () => expect(await w.addressesOf('named')).toEqual(['10.66.0.3/24']));
    await eventually(async () =>
      expect(await recorded(w)).toEqual(['first 10.66.0.2', 'named 10.66.0.3', 'next 10.66.0.4']),
    );
  });

  it('of an operator that died before it recorded an address leaves the pod what it has', async () => {
    let isOver = false;
    const { w, kill } = await stocked((client) =>
      seeingWrites(client, (verb, plural) => {
        if (isOver && `${verb} ${plural}` === 'update ippools') throw new Unavailable('TEST', 'The process ends here');
      }),
    );
    isOver = true;
    await w.pod('second', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('second')).toEqual(['10.66.0.3/24']));
    await kill();
    expect(await recorded(w)).toEqual(['first 10.66.0.2']);
    await w.operator();
    await eventually(async () => expect(await recorded(w)).toEqual(['first 10.66.0.2', 'second 10.66.0.3']));
    await w.pod('third', { podconfig: 'c' });
    // What the former one had set aside cools down first.
    await eventually(async () => expect(await w.addressesOf('third')).toEqual(['10.66.0.35/24']));
    expect(await w.addressesOf('second')).toEqual(['10.66.0.3/24']);
  });
});
