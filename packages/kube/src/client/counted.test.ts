import { describe, expect, it } from 'vitest';
import { createMetrics } from '../process/metrics.ts';
import { configMaps } from './builtin.ts';
import type { Client } from './client.ts';
import { counted } from './counted.ts';

describe('counted', () => {
  it('counts a call by verb and resource, and passes it on', async () => {
    const asked: unknown[] = [];
    const get = async (...given: unknown[]) => {
      asked.push(given);
      return 'found';
    };
    const metrics = createMetrics();
    const client = counted({ namespace: 'here', get } as unknown as Client, metrics);
    await expect(client.get(configMaps, 'a', { namespace: 'b' })).resolves.toBe('found');
    expect(asked).toEqual([[configMaps, 'a', { namespace: 'b' }]]);
    expect(client.namespace).toBe('here');
    expect(await metrics.text()).toContain('podloom_api_calls_total{verb="get",resource="configmaps"} 1');
  });
});
