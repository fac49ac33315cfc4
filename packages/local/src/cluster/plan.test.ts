import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { apiServiceAddress, parseClusterName, parseNodeCount, planCluster } from './plan.ts';

const anyName = fc.stringMatching(/^[a-z][a-z0-9-]{0,11}$/);
const anySpec = fc.record({
  name: anyName,
  network: fc.integer({ min: 90, max: 253 }),
  nodes: fc.integer({ min: 1, max: 60 }),
});

describe('planCluster', () => {
  it('gives no address and no range twice', () => {
    fc.assert(
      fc.property(anySpec, (spec) => {
        const plan = planCluster('/var/lib/podloom', spec);
        const addresses = [plan.hostAddress, plan.controlAddress, ...plan.members.map((node) => node.address)];
        const ranges = plan.members.map((node) => node.podRange);
        expect(new Set(addresses).size).toBe(spec.nodes + 2);
        expect(new Set(ranges).size).toBe(spec.nodes);
        expect(plan.dnsAddress).not.toBe(apiServiceAddress(spec));
      }),
    );
  });

  it('keeps every name within what the kernel takes', () => {
    fc.assert(
      fc.property(anySpec, (spec) => {
        const plan = planCluster('/var/lib/podloom', { ...spec, name: parseClusterName(spec.name) });
        expect(plan.hostLink.length).toBeLessThanOrEqual(15);
        for (const node of plan.members) expect(node.name.length).toBeLessThanOrEqual(15);
      }),
    );
  });

  it('keeps pods of every node within the range of pods', () => {
    const plan = planCluster('/x', { name: 'a', network: 90, nodes: 60 });
    const thirdBytes = plan.members.map((node) => Number(node.podRange.split('.')[2]));
    expect(plan.podRange).toBe('10.90.64.0/18');
    expect(Math.min(...thirdBytes)).toBeGreaterThanOrEqual(64);
    expect(Math.max(...thirdBytes)).toBeLessThan(128);
  });
});

describe('parseClusterName', () => {
  it.each(['', 'A', '1a', 'a_b', '../etc', 'a/b', 'a.b', 'thirteen-char'])(
    'refuses "%s" and says what is allowed',
    (name) => {
      expect(() => parseClusterName(name)).toThrow(/cannot be a cluster's name/);
    },
  );
});

describe('parseNodeCount', () => {
  it.each([0, -1, 1.5, 61, Number.NaN])('refuses %d', (count) => {
    expect(() => parseNodeCount(count)).toThrow(/1 to 60 nodes/);
  });
});
