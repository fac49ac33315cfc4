/** Events as a user finds them on the server. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { configMaps, coreEvents } from '../client/builtin.ts';
import type { Client } from '../client/client.ts';
import { eventually, realWorld } from '../client/testing/api-server.ts';
import { manualClock, settle } from '../clock/manual.ts';
import { silentLog } from '../process/log.ts';
import { createMetrics } from '../process/metrics.ts';
import { startEvents } from './recorder.ts';

async function recording(wrap: (client: Client) => Client = (same) => same) {
  const { client, namespace } = await realWorld();
  const stop = new AbortController();
  const clock = manualClock(Date.now());
  const metrics = createMetrics();
  const events = startEvents({
    client: wrap(client),
    component: 'podloom-test',
    host: 'node-1',
    log: silentLog,
    signal: stop.signal,
    clock,
    metrics,
  });
  onTestFinished(async () => {
    stop.abort();
    await events.ended;
    expect(clock.pending).toBe(0);
  });
  const object = await client.create(configMaps, { metadata: { name: 'subject' } });
  const found = async () => {
    const { items } = await client.list(coreEvents, { namespace, fieldSelector: `involvedObject.name=subject` });
    return items.map(({ type, reason, message, count }) => ({ type, reason, message, count }));
  };
  return { client, namespace, events, object, found, clock, metrics };
}

describe('startEvents', () => {
  it('tells what happened, and counts instead of repeating', async () => {
    const { events, object, found, clock } = await recording();
    events.normal(object, 'Attached', 'Attached 1 link');
    events.warning(object, 'LinkLost', 'net1 was removed');
    const first = [
      { type: 'Normal', reason: 'Attached', message: 'Attached 1 link', count: 1 },
      { type: 'Warning', reason: 'LinkLost', message: 'net1 was removed', count: 1 },
    ];
    await clock.advance(499);
    expect(await found()).toEqual([]);
    await clock.advance(1);
    await eventually(async () => expect(await found()).toEqual(expect.arrayContaining(first)));
    expect(await found()).toHaveLength(2);

    for (let times = 0; times < 500; times += 1) events.warning(object, 'LinkLost', `net${times} was removed`);
    await settle();
    expect(await found()).toEqual(expect.arrayContaining(first));
    await eventually(async () => {
      await clock.advance(10_000);
      const lost = { type: 'Warning', reason: 'LinkLost', message: 'net499 was removed', count: 501 };
      expect(await found()).toEqual(expect.arrayContaining([first[0], lost]));
    });
    expect(await found()).toHaveLength(2);
  });

  it('tells it anew when the server has forgotten the event', async () => {
    const { client, namespace, events, object, found, clock } = await recording();
    events.normal(object, 'Attached', 'Attached 1 link');
    await clock.advance(500);
    await eventually(async () => expect(await found()).toHaveLength(1));
    await client.deleteCollection(coreEvents, { namespace });
    events.normal(object, 'Attached', 'Attached 1 link again');
    await eventually(async () => {
      await clock.advance(10_000);
      expect(await found()).toMatchObject([{ message: 'Attached 1 link again', count: 2 }]);
    });
  });

  it('never makes the caller wait, and drops what cannot be told', async () => {
    const { events, object, metrics, found, clock } = await recording((client) => ({
      ...client,
      create: (resource, draft, options) =>
        client.create(resource, draft, { ...options, namespace: 'there-is-no-such-namespace' }),
    }));
    events.normal(object, 'Attached', 'Attached 1 link');
    await eventually(async () => {
      await clock.advance(60_000);
      expect(await metrics.text()).toContain('podloom_events_dropped_total 1');
    });
    expect(await found()).toEqual([]);
  });
});
