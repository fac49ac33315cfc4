import { createMetrics } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { destinationCounter, parseAddress } from './tracker.ts';

describe('destinationCounter', () => {
  it('counts by destination, and all over the limit together', async () => {
    const metrics = createMetrics();
    const count = destinationCounter(metrics, 22, 2);
    for (const destination of ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4', '10.0.0.1']) count(destination);
    const text = await metrics.text();
    expect(text).toContain('bastion_ssh_connections{destination_ip="10.0.0.1",destination_port="22"} 2\n');
    expect(text).toContain('bastion_ssh_connections{destination_ip="10.0.0.2",destination_port="22"} 1\n');
    expect(text).toContain('bastion_ssh_connections{destination_ip="other",destination_port="22"} 2\n');
    expect(text).not.toContain('10.0.0.3');
  });
});

describe('parseAddress', () => {
  it.each([
    [':8082', { port: 8082 }],
    ['127.0.0.1:80', { host: '127.0.0.1', port: 80 }],
    ['[::1]:80', { host: '::1', port: 80 }],
  ])('reads %s', (text, address) => expect(parseAddress(text)).toEqual(address));

  it.each(['8082', ':', ':http', ':65536', ''])('refuses %j', (text) => {
    expect(() => parseAddress(text)).toThrow('is no address to serve at');
  });
});
