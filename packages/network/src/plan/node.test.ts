import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyForeign, anyWishes, desire, link, podUid, seen, wish } from './builders.ts';
import type { DesiredBridge, DesiredNode } from './desired.ts';
import { fingerprint } from './fingerprint.ts';
import { isOurs, linkGroup, routeProtocol } from './mark.ts';
import { planNode } from './node.ts';
import type { Observed, ObservedNamespace } from './observed.ts';
import { planPod } from './pod.ts';
import { simulate } from './simulate.ts';

const bridge = (more: Partial<DesiredBridge> = {}): DesiredBridge => ({
  namespace: 'cnf-test',
  name: 'pcbr0',
  device: 'pcbr0',
  gateways: ['192.168.100.1/24', 'fd00:100::1/64'],
  home: 'node',
  ...more,
});
const want = (bridges: readonly DesiredBridge[], more: Partial<DesiredNode> = {}): DesiredNode => ({
  bridges,
  podUids: new Set(),
  ports: new Set(),
  ...more,
});
const settle = (desired: DesiredNode, node: ObservedNamespace): ObservedNamespace =>
  simulate(planNode(desired, node), { node }).node;
const nothing = seen().node;

const withPorts = (mtus: readonly number[], asked?: number): [DesiredNode, ObservedNamespace] => {
  const world = seen();
  const { gateways } = bridge();
  const wishes = mtus.map((mtuBytes, i) =>
    wish({
      key: `podconfig/a/pc${i}`,
      namePrefix: `pc${i}`,
      mtuBytes,
      bridge: { name: 'pcbr0', device: 'pcbr0', gateways, home: 'node', mtuBytes: asked },
      addresses: [`192.168.100.${i + 2}/24`],
    }),
  );
  const { node } = simulate(planPod(desire(wishes, world), world).steps, world);
  return [want([bridge()], { podUids: new Set([podUid]) }), node];
};
const mtuOf = (node: ObservedNamespace): number | undefined =>
  node.links.find(({ name }) => name === 'pcbr0')?.mtuBytes;

describe('planNode', () => {
  it('makes a bridge with rules and a table of its own, and nothing more the second time', () => {
    const after = settle(want([bridge()]), nothing);
    expect(after.links).toMatchObject([
      { name: 'pcbr0', up: true, group: linkGroup, addrGenMode: 'none', alias: 'podloom bridge cnf-test/pcbr0' },
    ]);
    expect(after.rules.map(({ from, iif }) => from ?? iif)).toEqual([
      'pcbr0',
      'pcbr0',
      '192.168.100.1/32',
      'fd00:100::1/128',
    ]);
    expect(after.routes.map(({ to, type }) => `${type} ${to}`)).toEqual([
      'unreachable 0.0.0.0/0',
      'unreachable ::/0',
      'unicast 192.168.100.0/24',
      'unicast fd00:100::/64',
    ]);
    expect(planNode(want([bridge()]), after)).toEqual([]);
  });

  it('is the same bridge that a pod would have made', () => {
    const world = seen();
    const byPod = simulate(planPod(desire([wish()], world), world).steps, world);
    const [made] = planPod(desire([wish()], world), world).interfaces;
    const desired = want([bridge({ gateways: ['192.168.100.1/24'] })], {
      podUids: new Set([podUid]),
      ports: new Set([made!.hostName!]),
    });
    expect(planNode(desired, byPod.node)).toEqual([]);
  });

  it('moves the gateway and takes the old one away', () => {
    const before = settle(want([bridge()]), nothing);
    const moved = want([bridge({ gateways: ['192.168.100.254/24'] })]);
    const after = settle(moved, before);
    expect(after.addresses.map(({ address }) => address)).toEqual(['192.168.100.254/24']);
    expect(after.rules.flatMap(({ from }) => from ?? [])).toEqual(['192.168.100.254/32']);
    expect(planNode(moved, after)).toEqual([]);
  });

  it('adds the subnet again that the kernel drops together with the only gateway', () => {
    const before = settle(want([bridge({ gateways: ['192.168.100.1/24'] })]), nothing);
    const moved = want([bridge({ gateways: ['192.168.100.254/24'] })]);
    const subnets = settle(moved, before).routes.filter(({ type }) => type === 'unicast');
    expect(subnets).toMatchObject([{ to: '192.168.100.0/24' }]);
    expect(planNode(moved, settle(moved, before))).toEqual([]);
  });

  it('keeps the MTU that a bridge was asked to have, whatever its ports have', () => {
    for (const mtus of [[9000], [1400], [1500, 9000], [9000, 1400]]) {
      expect(mtuOf(withPorts(mtus, 1500)[1])).toBe(1500);
      expect(mtuOf(withPorts(mtus, 1400)[1])).toBe(1400);
    }
  });

  it('gives a bridge whose MTU nobody asks for any more that of its smallest port, or the usual one', () => {
    const [desired, asked] = withPorts([9000, 4000], 1400);
    expect(mtuOf(asked)).toBe(1400);
    expect(mtuOf(settle(desired, asked))).toBe(4000);
    expect(planNode(desired, settle(desired, asked))).toEqual([]);
    expect(mtuOf(settle(want([bridge()]), asked))).toBe(1500);
    const [same, never] = withPorts([9000, 4000]);
    expect(planNode(same, never)).toEqual([]);
  });

  it('leaves nothing of a bridge that nobody wants any more', () => {
    const before = settle(want([bridge(), bridge({ name: 'b', device: 'b', gateways: [] })]), nothing);
    const after = settle(want([]), before);
    expect(fingerprint({ node: after })).toBe(fingerprint({ node: nothing }));
  });

  it('keeps a bridge that a foreign link is on', () => {
    const made = settle(want([bridge()]), nothing);
    const before = { ...made, links: [...made.links, link('tap0', 77, { master: made.links[0]!.index })] };
    expect(planNode(want([]), before)).toEqual([]);
  });

  it('removes links of pods that are no more, and those that a crash left without owner', () => {
    const world = seen();
    const running = simulate(planPod(desire([wish()], world), world).steps, world).node;
    const half = link('hpc07', 88, { kind: 'veth', group: linkGroup });
    const after = settle(want([]), { ...running, links: [...running.links, half] });
    expect(after.links).toEqual([]);
  });

  it('waits with a half-made link that a pod of this node is about to have', () => {
    const half = link('hpc07', 88, { kind: 'veth', group: linkGroup });
    expect(planNode(want([], { ports: new Set(['hpc07']) }), { ...nothing, links: [half] })).toEqual([]);
  });

  it('gives two bridges whose table numbers would meet different ones', () => {
    const first = settle(want([bridge()]), nothing);
    const stolen = {
      ...nothing,
      rules: first.rules.map((rule) => Object.assign({ ...rule }, { iif: rule.iif && 'other' })),
    };
    const after = settle(want([bridge(), bridge({ name: 'other', device: 'other', gateways: [] })]), stolen);
    const tableOf = (device: string): number | undefined => after.rules.find(({ iif }) => iif === device)?.table;
    expect(tableOf('pcbr0')).not.toBe(tableOf('other'));
  });

  it('makes a bridge anew that belonged to another namespace and has no ports', () => {
    const before = settle(want([bridge({ namespace: 'gone' })]), nothing);
    const after = settle(want([bridge()]), before);
    expect(after.links).toMatchObject([{ alias: 'podloom bridge cnf-test/pcbr0' }]);
    expect(planNode(want([bridge()]), after)).toEqual([]);
  });
});

const foreign = ({ node }: Observed): unknown => [
  node.links.filter((entry) => !isOurs(entry)),
  node.rules.filter(({ protocol }) => protocol !== routeProtocol),
  node.routes.filter(({ protocol }) => protocol !== routeProtocol),
];

describe('any plan of a node', () => {
  const anyBridges = fc
    .uniqueArray(fc.constantFrom('pcbr0', 'pcbr1', 'x'), { maxLength: 3 })
    .chain((names) =>
      fc.tuple(
        ...names.map((name, i) =>
          fc
            .tuple(
              fc.subarray([`10.${i}.0.1/24`, `10.${i}.0.2/24`, `fd00:${i}::1/64`]),
              fc.constantFrom(undefined, 1400, 1500, 9000),
            )
            .map(([gateways, mtuBytes]) => bridge({ name, device: name, gateways, mtuBytes })),
        ),
      ),
    );
  it('leaves nothing to do, touches nothing foreign, and may be cut short anywhere', () => {
    fc.assert(
      fc.property(anyBridges, anyBridges, anyWishes, anyForeign, fc.nat(), (first, second, wishes, world, cut) => {
        const withPod = simulate(planPod(desire(wishes, world), world).steps, world);
        const before = settle(want(first), withPod.node);
        const steps = planNode(want(second), before);
        const straight = simulate(steps, { node: before });
        expect(planNode(want(second), straight.node)).toEqual([]);
        expect(foreign(straight)).toEqual(foreign(world));
        const crashed = simulate(steps.slice(0, cut % (steps.length + 1)), { node: before });
        expect(fingerprint({ node: settle(want(second), crashed.node) })).toBe(fingerprint(straight));
      }),
    );
  });
});
