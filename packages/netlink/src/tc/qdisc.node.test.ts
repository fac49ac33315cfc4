/** Qdiscs and classes against `tc`, both ways. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open, type Netns } from '../namespace.ts';
import { jsonTool, tool, whereKernelHas } from '../testing/oracle.ts';
import type { QdiscSettingsByKind } from './qdisc-kinds.ts';
import type { QdiscSettings } from './qdisc.ts';

const made = (settings: object) => ({ link: 'v0', ...settings }) as QdiscSettings;
const tbf = (bytesPerSecond: number) =>
  made({ kind: 'tbf', handle: '7:', data: { bytesPerSecond, burstBytes: 20_000, latencyUs: 50_000 } });

describe('qdiscs', () => {
  let ns: Netns;
  beforeEach(() => {
    ns = open({ create: true });
    ns.link.add({ kind: 'veth', name: 'v0', peer: { name: 'v1' } });
  });
  afterEach(() => ns.close());

  const shown = (link = 'v0') => jsonTool(ns, `tc -r -json qdisc show dev ${link}`);

  it.for<[keyof QdiscSettingsByKind, object, string]>([
    [
      'tbf',
      { bytesPerSecond: 2_500_000, burstBytes: 32_768, limitBytes: 100_000 },
      'rate 20mbit burst 32kb limit 100000',
    ],
    ['tbf', { bytesPerSecond: 6e9, burstBytes: 999_936, limitBytes: 7e6 }, 'rate 48gbit burst 999936 limit 7000000'],
    [
      'tbf',
      { bytesPerSecond: 1e6, burstBytes: 10_000, limitBytes: 10_000, peakBytesPerSecond: 2e6, peakBurstBytes: 1600 },
      'rate 8mbit burst 10000 limit 10000 peakrate 16mbit minburst 1600',
    ],
    ['htb', { defaultClass: 0x20, rateToQuantum: 5 }, 'default 20 r2q 5'],
    ['htb', { directQueueLength: 7 }, 'direct_qlen 7'],
    [
      'fq_codel',
      { limitPackets: 900, targetUs: 5000, intervalUs: 90_000, quantumBytes: 1000, ecn: 0, flows: 64 },
      'limit 900 target 5ms interval 90ms quantum 1000 noecn flows 64',
    ],
    ['netem', { delayUs: 20_000, jitterUs: 1000, limitPackets: 50 }, 'delay 20ms 1ms limit 50'],
    [
      'netem',
      { loss: 0.25, duplicate: 0.5, corrupt: 0.125, bytesPerSecond: 125_000 },
      'loss 25% duplicate 50% corrupt 12.5% rate 1mbit',
    ],
    ['netem', { delayUs: 5000, reorder: 0.75, gap: 3 }, 'delay 5ms reorder 75% gap 3'],
    ['pfifo', { limit: 77 }, 'limit 77'],
    ['bfifo', { limit: 3000 }, 'limit 3000'],
  ])('makes and reads %s %o as tc does', ([kind, data, line], context) => {
    whereKernelHas(kind, context, () => ns.qdisc.add(made({ kind, data, handle: '5:' })));
    tool(ns, `tc qdisc add dev v1 root handle 5: ${kind} ${line}`);
    const [ours] = ns.qdisc.list({ link: 'v0' });
    const [theirs] = ns.qdisc.list({ link: 'v1' });
    expect(shown('v0')[0]?.['options']).toEqual(shown('v1')[0]?.['options']);
    expect(ours).toEqual({ ...theirs, index: ours?.index });
    expect(ours).toMatchObject({ kind, handle: '5:', parent: 'root' });
    const given = Object.entries(data).filter(([key]) => key !== 'peakBurstBytes');
    // The kernel rounds a burst to its clock.
    for (const [key, value] of given) {
      expect(
        Math.abs(Number(Reflect.get(ours?.kind === undefined ? {} : ours.data, key)) / Number(value) - 1 || 0),
      ).toBeLessThan(0.001);
    }
  });

  it('makes clsact and ingress, and deletes them', () => {
    ns.qdisc.add({ link: 'v0', kind: 'clsact' });
    expect(shown()).toMatchObject([{ kind: 'clsact', parent: 'ffff:fff1' }]);
    expect(ns.qdisc.list({ link: 'v0' })).toMatchObject([{ kind: 'clsact', parent: 'clsact', handle: 'ffff:' }]);
    expect(() => ns.qdisc.add({ link: 'v0', kind: 'clsact' })).toThrow('qdisc.add: EEXIST');
    ns.qdisc.replace({ link: 'v0', kind: 'clsact' });
    ns.qdisc.delete({ link: 'v0', kind: 'clsact' });
    ns.qdisc.add({ link: 'v0', kind: 'ingress' });
    expect(shown()[0]).toMatchObject({ kind: 'ingress' });
  });

  it('changes a rate in place and removes it', () => {
    ns.qdisc.replace(tbf(1_000_000));
    ns.qdisc.replace(tbf(2_000_000));
    expect(shown()).toMatchObject([{ handle: '7:', options: { rate: 2_000_000 } }]);
    ns.qdisc.change(tbf(3_000_000));
    expect(shown()).toMatchObject([{ handle: '7:', options: { rate: 3_000_000 } }]);
    ns.qdisc.delete({ link: 'v0' });
    expect(shown()).toEqual([]);
  });

  it("names the attribute and the kernel's reason in its errors", () => {
    expect(() =>
      ns.qdisc.add(made({ kind: 'tbf', parent: '9:1', data: { bytesPerSecond: 1, burstBytes: 1, limitBytes: 1 } })),
    ).toThrow(/^qdisc.add: E\w+: /);
    expect(() => ns.qdisc.add(made({ parent: 'nowhere', kind: 'clsact' }))).toThrow('"nowhere" is not a handle');
    expect(() => ns.qdisc.add(made({ kind: 'tbf', data: { bytesPerSecond: 1, burstBytes: 1 } }))).toThrow('limitBytes');
  });

  it('makes and reads htb classes as tc does', () => {
    ns.qdisc.add({ link: 'v0', kind: 'htb', handle: '1:', data: { defaultClass: 0x20 } });
    ns.class.add({
      link: 'v0',
      kind: 'htb',
      parent: '1:',
      handle: '1:10',
      data: {
        bytesPerSecond: 1_250_000,
        ceilBytesPerSecond: 2_500_000,
        burstBytes: 20_000,
        priority: 3,
        quantumBytes: 3000,
      },
    });
    tool(ns, 'tc class add dev v0 parent 1: classid 1:20 htb rate 8mbit ceil 16mbit burst 10k quantum 2000');
    tool(ns, 'tc qdisc add dev v0 parent 1:20 handle 20: bfifo limit 5000');
    expect(tool(ns, 'tc -d class show dev v0 classid 1:10')).toMatch(
      /prio 3 quantum 3000 rate 10Mbit ceil 20Mbit .*burst 20000b/,
    );
    const data = { bytesPerSecond: 1_000_000, ceilBytesPerSecond: 2_000_000, quantumBytes: 2000, burstBytes: 10_240 };
    expect(ns.class.list({ link: 'v0' }).find((one) => one.handle === '1:20')).toMatchObject({
      kind: 'htb',
      leaf: '20:',
      data,
    });
    ns.class.replace({ link: 'v0', kind: 'htb', parent: '1:', handle: '1:10', data: { bytesPerSecond: 125_000 } });
    expect(tool(ns, 'tc class show dev v0 classid 1:10')).toContain('rate 1Mbit ceil 1Mbit');
    ns.class.delete({ link: 'v0', handle: '1:10' });
    expect(ns.class.list({ link: 'v0' }).map((one) => one.handle)).toEqual(['1:20']);
  });

  it('counts what went through', () => {
    ns.qdisc.add(made({ kind: 'tbf', data: { bytesPerSecond: 1_000_000, burstBytes: 20_000, limitBytes: 20_000 } }));
    const [before] = jsonTool(ns, 'tc -s -json qdisc show dev v0');
    const [ours] = ns.qdisc.list({ link: 'v0' });
    expect(ours?.stats).toMatchObject({ bytes: before?.['bytes'], packets: before?.['packets'], drops: 0 });
  });
});
