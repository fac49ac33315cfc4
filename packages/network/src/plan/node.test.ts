import type { PodInterface } from '@podloom/api';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyForeign, anyMeddling, anyWishes, desire, link, meddle, podUid, seen, wish } from '../testing/builders.ts';
import type { DesiredBridge, DesiredNode } from './desired.ts';
import { fingerprint } from '../testing/fingerprint.ts';
import { linkGroup } from './mark.ts';
import { chooseNames, linkNames } from './names.ts';
import { desiredBridges, planNode } from './node.ts';
import type { Observed, ObservedNamespace } from './observed.ts';
import { foreignPart, trespasses } from '../testing/ownership.ts';
import { planPod } from './pod.ts';
import type { Step } from './step.ts';
import { simulate } from '../explain/simulate.ts';

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

  it.each([
    [1400, 9000],
    [9000, 1400],
    [9000, undefined],
    [undefined, 9000],
  ])(
    'agrees with the pods on the MTU of a bridge for which one of them asks for %s and the other for %s',
    (...asked) => {
      let { node } = seen();
      const pods = asked.map((mtuBytes, i) => {
        const spec = {
          podUid: `pod-${i}`,
          interfaces: [wish({ addresses: [`192.168.100.${i + 2}/24`], bridge: { ...wish().bridge!, mtuBytes } })],
        };
        return { spec, pid: i + 1, pod: seen().pod! };
      });
      const users = pods.map(({ spec }) => ({ namespace: 'cnf-test', ...spec }));
      const bridges = desiredBridges(users);
      const desired = want(bridges, { podUids: new Set(pods.map(({ spec }) => spec.podUid)) });
      const serve = ({ spec, pid, pod }: (typeof pods)[number]) => {
        const names = chooseNames({ spec, pid, observed: { node, pod } });
        const agreed = { namespace: 'cnf-test', spec, names, bridgeMtu: () => bridges[0]?.mtuBytes };
        return planPod(agreed, { node, pod }).steps;
      };
      for (let times = 0; times < 2; times += 1) {
        for (const one of pods) {
          const after = simulate(serve(one), { node, pod: one.pod });
          node = after.node;
          one.pod = after.pod!;
        }
      }
      expect(planNode(desired, node)).toEqual([]);
      expect(pods.map(serve)).toEqual([[], []]);
    },
  );

  it('gives a bridge whose MTU nobody asks for any more that of its smallest port, or the usual one', () => {
    const [desired, asked] = withPorts([9000, 4000], 1400);
    expect(mtuOf(asked)).toBe(1400);
    expect(mtuOf(settle(desired, asked))).toBe(4000);
    expect(planNode(desired, settle(desired, asked))).toEqual([]);
    expect(mtuOf(settle(want([bridge()]), asked))).toBe(1500);
    const [same, never] = withPorts([9000, 4000]);
    expect(planNode(same, never)).toEqual([]);
  });

  it('leaves a bridge that is held as others made it, apart from its MTU', () => {
    const made = settle(want([bridge()]), nothing);
    const [{ index } = { index: 0 }] = made.links;
    const changed = {
      ...made,
      links: made.links.map((one) => Object.assign({ ...one }, { mac: '02:00:00:00:00:07', mtuBytes: 1400 })),
      addresses: [...made.addresses.slice(1), { link: index, address: '192.168.100.77/24' }],
    };
    const after = settle(want([bridge()], { held: new Set(['pcbr0']) }), changed);
    expect(mtuOf(after)).toBe(1500);
    expect({ ...after, links: [] }).toEqual({ ...changed, links: [] });
    expect(after.links).toMatchObject([{ mac: '02:00:00:00:00:07' }]);
    const mended = settle(want([bridge()], { held: new Set(['other']) }), changed);
    expect(planNode(want([bridge()]), mended)).toEqual([]);
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

/** Of one pod: its own uid, process and addresses, on bridges that are as everybody wants them. */
interface Tenant {
  readonly uid: string;
  readonly pid: number;
  readonly wishes: readonly PodInterface[];
}

const anyBridgeSettings = fc.record({
  gateways: fc.subarray([1, 254]),
  mtuBytes: fc.constantFrom(undefined, undefined, 1400, 1500, 9000),
});
const anySettings = fc.record({ pcbr0: anyBridgeSettings, pcbr1: anyBridgeSettings });

/** The pod's number in the address. */
const addressOf = (p: number, address: string): string =>
  address
    .replace('::a', `::${'bcd'[p]}`)
    .replace(
      /\.(\d+)\//,
      (_, host) => `.${15 * (1 + (Math.floor(Number(host) / 15) % 14)) + p * 5 + (Number(host) % 5)}/`,
    );

/** Up to three pods that share two bridges. Composing sees to it that they agree on what a bridge is like, and that no address is given twice. */
const anyTenants: fc.Arbitrary<Tenant[]> = fc
  .tuple(fc.array(anyWishes, { minLength: 2, maxLength: 3 }), anySettings)
  .map(([pods, settings]) =>
    pods.map((wishes, p) => ({
      uid: `6f2c7a90-0000-4000-8000-00000000000${p + 1}`,
      pid: 2841804 + p,
      wishes: wishes.map((entry) => {
        const { device } = entry.bridge!;
        const { gateways, mtuBytes } = settings[device as keyof typeof settings];
        const net = device === 'pcbr0' ? 100 : 99;
        return Object.assign(
          { ...entry },
          {
            bridge: {
              name: device,
              device,
              home: 'node' as const,
              gateways: gateways.flatMap((host) => [`192.168.${net}.${host}/24`, `fd00:${net}::${host}/64`]),
              mtuBytes,
            },
            macAddress: entry.macAddress?.replace('02:aa:00', `02:aa:0${p}`),
            addresses: [...new Set(entry.addresses.map((address) => addressOf(p, address)))],
          },
        );
      }),
    })),
  );

/** A node with several pods. */
class Machine {
  node: ObservedNamespace;
  readonly pods: ObservedNamespace[];
  readonly trespasses: string[] = [];
  /** Pods that found something of theirs taken: by one that was still to be served, perhaps. */
  readonly refused = new Set<number>();

  constructor({ node, pod }: Observed, count: number) {
    this.node = node;
    this.pods = Array.from({ length: count }, () => pod!);
  }

  planOf(p: number, { uid, pid, wishes }: Tenant) {
    const observed = { node: this.node, pod: this.pods[p]! };
    const spec = { podUid: uid, interfaces: [...wishes] };
    return planPod({ namespace: 'cnf-test', spec, names: chooseNames({ spec, pid, observed }) }, observed);
  }

  nodePlan(tenants: readonly Tenant[]) {
    const users = tenants.map(({ wishes }) => ({ namespace: 'cnf-test', interfaces: wishes }));
    const ports = tenants.flatMap(({ wishes, pid }) =>
      wishes.map(({ namePrefix }) => linkNames(namePrefix!, pid).node),
    );
    const podUids = new Set(tenants.map(({ uid }) => uid));
    return planNode({ bridges: desiredBridges(users), podUids, ports: new Set(ports) }, this.node);
  }

  /** Serves the pod of that number, or the node where there is none. */
  serve(turn: number, tenants: readonly Tenant[]): void {
    const tenant = tenants[turn];
    if (!tenant) {
      this.#apply(this.nodePlan(tenants));
      return;
    }
    for (let lookAgain = true; lookAgain;) {
      const plan = this.planOf(turn, tenant);
      if (plan.interfaces.some(({ reason }) => reason !== undefined)) this.refused.add(turn);
      this.#apply(plan.steps, turn);
      lookAgain = plan.lookAgain;
    }
  }

  #apply(steps: readonly Step[], p?: number): void {
    const observed = { node: this.node, ...(p === undefined ? {} : { pod: this.pods[p]! }) };
    this.trespasses.push(...trespasses(steps, observed));
    const { node, pod } = simulate(steps, observed);
    this.node = node;
    if (p !== undefined) this.pods[p] = pod!;
  }
}

describe('several pods on the bridges of a node', () => {
  it('are served in any order, with the plan of the node in between, until nothing is left to do for any of them', () => {
    let attached = 0;
    fc.assert(
      fc.property(
        anyTenants,
        anyTenants,
        anyForeign,
        anyMeddling,
        fc.array(fc.nat(3), { maxLength: 6 }),
        fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
        (first, second, world, meddling, some, order) => {
          const count = Math.max(first.length, second.length);
          // A pod that one of them does not know wants nothing there.
          const all = (tenants: readonly Tenant[], others: readonly Tenant[]): Tenant[] =>
            Array.from({ length: count }, (_, p) => tenants[p] ?? Object.assign({ ...others[p]! }, { wishes: [] }));
          const [before, after] = [all(first, second), all(second, first)];
          const machine = new Machine(world, count);
          for (const turn of [...some, ...order]) machine.serve(turn, before);
          machine.node = meddle({ node: machine.node }, meddling).node;
          const foreign = foreignPart(machine.node);
          for (const turn of [...some, ...order]) machine.serve(turn, after);
          for (const turn of [...machine.refused, ...machine.refused, count]) machine.serve(turn, after);
          expect(machine.trespasses).toEqual([]);
          expect(machine.nodePlan(after)).toEqual([]);
          const plans = after.map((tenant, p) => machine.planOf(p, tenant));
          expect(plans.map(({ steps }) => steps)).toEqual(after.map(() => []));
          expect(foreignPart(machine.node)).toEqual(foreign);
          for (const pod of machine.pods) expect(foreignPart(pod)).toEqual(foreignPart(world.pod));
          attached += plans.flatMap(({ interfaces }) => interfaces).filter(({ state }) => state === 'Attached').length;
        },
      ),
      { numRuns: 300 },
    );
    expect(attached).toBeGreaterThan(300);
  });
});

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
      fc.property(
        fc.tuple(anyBridges, anyBridges),
        anyWishes,
        anyForeign,
        anyMeddling,
        fc.nat(),
        ([first, second], wishes, world, meddling, cut) => {
          const withPod = simulate(planPod(desire(wishes, world), world).steps, world);
          const before = meddle({ node: settle(want(first), withPod.node) }, meddling);
          const steps = planNode(want(second), before.node);
          expect(trespasses(steps, before)).toEqual([]);
          const straight = simulate(steps, before);
          expect(planNode(want(second), straight.node)).toEqual([]);
          expect(foreignPart(straight.node)).toEqual(foreignPart(before.node));
          const crashed = simulate(steps.slice(0, cut % (steps.length + 1)), before);
          expect(fingerprint({ node: settle(want(second), crashed.node) })).toBe(fingerprint(straight));
        },
      ),
      { numRuns: 300 },
    );
  });
});
