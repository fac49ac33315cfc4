import { describe, expect, it, onTestFinished } from 'vitest';
import { silentLog } from './log.ts';
import { addProcessMetrics, createMetrics } from './metrics.ts';
import { startServer } from './server.ts';
import type { Check } from './server.ts';

async function serving(checks: { health?: Record<string, Check>; ready?: Record<string, Check> } = {}) {
  const stop = new AbortController();
  const metrics = createMetrics();
  const options = { port: 0, host: '127.0.0.1', metrics, log: silentLog, signal: stop.signal };
  const server = await startServer({ ...options, ...checks });
  onTestFinished(async () => {
    stop.abort();
    await server.ended;
  });
  const ask = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
    return { status: response.status, text: await response.text() };
  };
  return { ask, metrics, stop, server, options };
}

describe('startServer', () => {
  it('is healthy with nothing to check', async () => {
    const { ask } = await serving();
    expect(await ask('/healthz')).toEqual({ status: 200, text: 'ok\n' });
    expect((await ask('/elsewhere')).status).toBe(404);
  });

  it('answers on every address where no host is named', async () => {
    const { stop, options } = await serving();
    const server = await startServer({ ...options, host: undefined });
    expect((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status).toBe(200);
    expect((await fetch(`http://127.0.0.2:${server.port}/healthz`)).status).toBe(200);
    stop.abort();
    await server.ended;
  });

  it('says which check fails and why, and recovers with it', async () => {
    let synced: true | string = 'pods are not listed yet';
    const { ask } = await serving({ ready: { caches: () => synced, leader: () => true } });
    expect(await ask('/readyz')).toEqual({ status: 503, text: 'fail caches: pods are not listed yet\nok   leader\n' });
    expect((await ask('/healthz')).status).toBe(200);
    synced = true;
    expect((await ask('/readyz?verbose')).status).toBe(200);
  });

  it('answers the questions that metrics are', async () => {
    const { ask, metrics } = await serving();
    addProcessMetrics(metrics);
    metrics.counter('links_total', 'How many links were made?', ['type']).add({ type: 'veth' });
    metrics.counter('links_total', 'How many links were made?', ['type']).add({ type: 'veth' }, 2);
    metrics.histogram('took_seconds', 'How long did it take?').observe({}, 0.3);
    const gauge = metrics.gauge('pods', 'How many pods are served?', ['node']);
    gauge.set({ node: 'a' }, 3);
    gauge.set({ node: 'b' }, 4);
    gauge.remove({ node: 'b' });
    const forget = metrics.sampled('depth', 'How many wait?', { queue: 'a' }, () => 7);
    metrics.sampled('depth', 'How many wait?', { queue: 'b' }, () => 8);
    const { status, text } = await ask('/metrics');
    expect(status).toBe(200);
    expect(text).toContain('# HELP links_total How many links were made?\n');
    expect(text).toContain('links_total{type="veth"} 3');
    expect(text).toContain('took_seconds_bucket{le="0.5"} 1');
    expect(text).toContain('pods{node="a"} 3');
    expect(text).not.toContain('node="b"');
    expect(text).toContain('depth{queue="a"} 7');
    expect(text).toMatch(/process_resident_memory_bytes \d{6,}/);
    for (const help of text.match(/^# HELP .*$/gm) ?? []) expect(help).toMatch(/\?$/);
    forget();
    expect((await ask('/metrics')).text).not.toContain('queue="a"');
  });

  it('says what to do when its port is taken', async () => {
    const { server, options } = await serving();
    await expect(startServer({ ...options, port: server.port })).rejects.toThrow(/cannot be served.*choose another/);
  });

  it('is gone after the signal, with the connections that were open', async () => {
    const { ask, stop, server } = await serving();
    await ask('/healthz');
    stop.abort();
    await server.ended;
    await expect(ask('/healthz')).rejects.toThrow(TypeError);
  });
});
