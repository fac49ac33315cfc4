/** Plans against the real kernel: carried out they are fixed points, whatever came in between, and leave alone what is not ours. */
import { type PodNetwork, Unavailable } from '@podloom/api';
import { deriveMac, describeStep, leavingGroup, linkGroup, planNode, routeProtocol } from '@podloom/network';
import { type Netns, addressFlags } from '@podloom/netlink';
import { describe, expect, it, vi } from 'vitest';
import { type Served, type World, dump, look, makeWorld, plan, serve, tool } from '../testing/world.ts';
import { podInterface, podSpec } from '../testing/specs.ts';
import { fingerprintOf } from '../testing/fingerprint.ts';
import { tidyNode } from '../reconcile/node.ts';
import { applyStep, describeFailure } from './step.ts';
import { silentLog } from '@podloom/kube';

const two = (world: World): [Served, Served] => [
  { spec: podSpec('uid-a', [podInterface(2)]), pod: world.pods[0]!, pid: 11 },
  { spec: podSpec('uid-b', [podInterface(3)]), pod: world.pods[1]!, pid: 12 },
];

const rich = (world: World): Served => ({
  spec: podSpec('uid-a', [
    podInterface(2, {
      mtuBytes: 1400,
      alias: 'data plane',
      macAddress: '02:00:00:00:00:aa',
      routes: [
        { to: '203.0.113.0/24', via: '192.168.100.1' },
        { to: 'fd00:200::/64', via: 'fd00:100::1', metric: 50 },
      ],
    }),
    podInterface(9, {
      key: 'PodConfig/nets/1',
      namePrefix: 'pc1',
      bridge: { name: 'pcbr1', device: 'pcbr1', gateways: ['192.168.101.1/24'], home: 'node' },
      addresses: ['192.168.101.9/24'],
    }),
  ]),
  pod: world.pods[0]!,
  pid: 11,
});

/** With another list of interfaces. */
const changed = (served: Served, ...interfaces: Served['spec']['interfaces']): Served => ({
  ...served,
  spec: { ...served.spec, interfaces },
});

const prefixesOf = (netns: Netns, link: string): string[] =>
  netns.address.list({ link: netns.link.indexOf(link) }).map(({ prefix }) => prefix);
const addressesOf = (netns: Netns, link: string): string[] =>
  prefixesOf(netns, link).filter((prefix) => !prefix.startsWith('fe80'));

function detach(world: World, served: Served): void {
  serve(world, { ...served, spec: { ...served.spec, interfaces: [] } });
  world.view.touchAll();
  tidyNode([], { netns: world.node, view: world.view, log: silentLog });
}

const networkOf = ({ spec }: Served): PodNetwork => ({
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'PodNetwork',
  metadata: { name: spec.podUid, namespace: 'cnf-test' },
  spec,
});

const ping = (world: World, pod: number, to: string, ...options: string[]): boolean => {
  try {
    return tool(world.pods[pod]!, 'ping', ...options, '-c', '1', '-W', '2', to).includes(' 0% packet loss');
  } catch {
    return false; // ping's way to say that nobody answered
  }
};

/** The same, given time: links, ports and neighbours take a moment, on a loaded machine a long one. */
const reaches = (world: World, pod: number, to: string, ...options: string[]): boolean => {
  const untilMs = performance.now() + 60_000;
  while (performance.now() < untilMs) if (ping(world, pod, to, ...options)) return true;
  return false;
};

describe('a plan carried out', () => {
  it('leaves nothing to do', () => {
    using world = makeWorld();
    const served = rich(world);
    expect(serve(world, served)).toMatchObject({ failed: new Map(), errors: [] });
    const after = plan(world, served);
    expect(after.steps).toEqual([]);
    expect(after.interfaces.map(({ state }) => state)).toEqual(['Attached', 'Attached']);
  });

  it.each([
    [
      'a neighbour of the node',
      '192.168.100.1/24',
      ['link add out up type bridge', 'address add 192.168.100.9/24 dev out'],
    ],
    ['an address of the node', '192.168.100.1/24', ['address add 192.168.100.1/32 dev lo']],
    ['behind a router of the node', 'fd00:100::1/64', ['-6 route add fd00:100::/48 dev lo']],
  ])('takes no gateway that is %s, and leaves nothing of it', (_, gateway, commands) => {
    using world = makeWorld();
    for (const command of commands) tool(world.node, 'ip', ...command.split(' '));
    const before = dump(world.node);
    const served = {
      ...two(world)[0],
      spec: podSpec('uid-a', [
        podInterface(2, { bridge: { name: 'pcbr0', device: 'pcbr0', gateways: [gateway], home: 'node' } }),
      ]),
    };
    const { failed } = serve(world, served);
    expect([...failed.values()].map(describeFailure)).toMatchObject([{ reason: 'GatewayTaken' }]);
    expect(dump(world.node)).toEqual(before);
  });

  it('takes the gateway of another bridge from nobody, and serves who asks for none', () => {
    using world = makeWorld(2);
    const [a, b] = two(world);
    serve(world, a);
    const other = (gateways: string[]): Served => ({
      ...b,
      spec: podSpec('uid-b', [podInterface(3, { bridge: { name: 'pcbr0', device: 'other', gateways, home: 'node' } })]),
    });
    expect([...serve(world, other(['192.168.100.1/16'])).failed.values()].map(describeFailure)).toMatchObject([
      { reason: 'GatewayTaken', message: expect.stringContaining('pcbr0') },
    ]);
    expect(serve(world, other([]))).toMatchObject({ failed: new Map(), errors: [] });
    expect(reaches(world, 0, '192.168.100.1')).toBe(true);
  });

  it('is taken for the same where someone types the commands that explain it', () => {
    using world = makeWorld(0);
    const bridge = { ...podInterface(2).bridge!, namespace: 'cnf-test' };
    const desired = { bridges: [bridge], podUids: new Set<string>(), ports: new Set<string>() };
    const steps = () => {
      world.view.touchAll();
      return planNode(desired, world.view.current());
    };
    for (const step of steps()) tool(world.node, 'sh', '-c', describeStep(step));
    expect(steps()).toEqual([]);
  });

  it('makes links with one queue at both ends', () => {
    using world = makeWorld();
    serve(world, two(world)[0]);
    const ends = [...world.node.link.list(), ...world.pods[0]!.link.list()].filter(
      ({ kind, group }) => kind === 'veth' && group === linkGroup,
    );
    const one = { numTxQueues: 1, numRxQueues: 1 };
    expect(ends).toMatchObject([one, one]);
  });

  it('lets pods reach each other and the gateway over IPv4 and IPv6', () => {
    using world = makeWorld(2);
    const [a, b] = two(world);
    serve(world, a);
    serve(world, b);
    const reached = ['192.168.100.3', '192.168.100.1', 'fd00:100::3', 'fd00:100::1'].filter((to) =>
      reaches(world, 0, to),
    );
    expect(reached).toEqual(['192.168.100.3', '192.168.100.1', 'fd00:100::3', 'fd00:100::1']);
  });

  it.each([
    ['/31', '192.168.100.2/31', '192.168.100.3/31'],
    ['/32', '192.168.100.2/32', '192.168.100.9/32'],
    ['/127', 'fd00:100::2/127', 'fd00:100::3/127'],
    ['/128', 'fd00:100::2/128', 'fd00:100::9/128'],
  ])('gives two pods addresses of a range as small as %s, over which they reach each other', (_, mine, theirs) => {
    using world = makeWorld(2);
    const single = mine.endsWith('/32') || mine.endsWith('/128');
    const bridge = { name: 'pcbr0', device: 'pcbr0', gateways: [], home: 'node' as const };
    // Of a range of one address, the other end is in none: only a route leads there.
    const link = (own: string, other: string) =>
      podInterface(0, { bridge, addresses: [own], routes: single ? [{ to: other }] : [] });
    const [a, b] = two(world);
    const pods = [changed(a, link(mine, theirs)), changed(b, link(theirs, mine))];
    for (const served of pods) expect(serve(world, served)).toMatchObject({ failed: new Map(), errors: [] });
    expect([addressesOf(world.pods[0]!, 'pc011'), addressesOf(world.pods[1]!, 'pc012')]).toEqual([[mine], [theirs]]);
    expect(reaches(world, 0, theirs.split('/')[0]!)).toBe(true);
    for (const served of pods) expect(plan(world, served).steps).toEqual([]);
  });

  it.each([
    ['/31', '192.168.100.2/31', '192.168.100.3/31'],
    ['/127', 'fd00:100::2/127', 'fd00:100::3/127'],
  ])('lets one address of a %s be the gateway, which the pod with the other one reaches', (_, gateway, own) => {
    using world = makeWorld();
    const before = dump(world.node);
    const bridge = { name: 'pcbr0', device: 'pcbr0', gateways: [gateway], home: 'node' as const };
    const served = { ...rich(world), spec: podSpec('uid-a', [podInterface(0, { bridge, addresses: [own] })]) };
    expect(serve(world, served)).toMatchObject({ failed: new Map(), errors: [] });
    expect(reaches(world, 0, gateway.split('/')[0]!)).toBe(true);
    expect(plan(world, served).steps).toEqual([]);
    detach(world, served);
    expect(dump(world.node)).toBe(before);
  });

  it('gives the view the same news as reading everything', () => {
    using world = makeWorld(2);
    const [a, b] = two(world);
    world.view.current();
    for (const served of [a, b]) {
      const { touched } = serve(world, served);
      for (const name of touched.get('node')?.links ?? []) world.view.touch(name);
      world.view.touchRouting();
    }
    const told = fingerprintOf({ node: world.view.current() });
    expect(told).toEqual(fingerprintOf({ node: look(world, a).node }));
  });

  it('lets the view tell what is otherwise also when someone looked before it was asked', () => {
    using world = makeWorld(2);
    const [a, b] = two(world);
    world.view.news();
    world.view.touchedBy(serve(world, a).touched.get('node'));
    const port = look(world, b).node.links.find(({ name }) => name.startsWith('hpc'))!;
    expect(world.view.news().links).toContainEqual({ old: undefined, now: port });
    world.node.link.set(port.index, { up: false });
    world.view.touch(port.index);
    world.view.touch(port.name);
    world.view.current();
    world.view.touchedBy(serve(world, b).touched.get('node'));
    expect(world.view.news().links).toContainEqual({ old: port, now: { ...port, up: false } });
    expect(world.view.news()).toEqual({ links: [], routing: false });
  });

  it('leaves the node byte for byte as it was once everything is taken away', () => {
    using world = makeWorld();
    const before = [dump(world.node), dump(world.pods[0]!)];
    const served = rich(world);
    serve(world, served);
    expect(dump(world.node)).not.toEqual(before[0]);
    detach(world, served);
    expect([dump(world.node), dump(world.pods[0]!)]).toEqual(before);
  });

  it('takes several links away together, and what a crash left half way goes, or comes back', () => {
    using world = makeWorld();
    const before = [dump(world.node), dump(world.pods[0]!)];
    const served = rich(world);
    serve(world, served);
    const ports = look(world, served).node.links.filter(({ name }) => name.startsWith('hpc'));
    expect(ports).toHaveLength(2);
    const doomed = (): void => ports.forEach(({ index }) => world.node.link.set(index, { group: leavingGroup }));

    doomed(); // and the process ended
    expect(plan(world, served).steps).toMatchObject([
      { do: 'setLink', link: ports[0]!.name, set: { group: linkGroup } },
      { do: 'setLink', link: ports[1]!.name, set: { group: linkGroup } },
    ]);
    serve(world, served);
    expect(plan(world, served).steps).toEqual([]);

    doomed();
    detach(world, served);
    expect([dump(world.node), dump(world.pods[0]!)]).toEqual(before);
  });

  it('takes links away one by one where they cannot go together', () => {
    using world = makeWorld();
    const before = [dump(world.node), dump(world.pods[0]!)];
    const served = rich(world);
    serve(world, served);
    using together = vi.spyOn(world.node.link, 'deleteGroup').mockImplementation(() => {
      throw new Unavailable('TEST', 'The kernel does not want to');
    });
    detach(world, served);
    expect(together).toHaveBeenCalled();
    expect([dump(world.node), dump(world.pods[0]!)]).toEqual(before);
  });

  it('keeps the main table as it is while attached', () => {
    using world = makeWorld();
    const main = (): string => tool(world.node, 'ip', '-json', 'route', 'list', 'table', 'main');
    const before = main();
    serve(world, rich(world));
    expect(main()).toEqual(before);
  });
});

describe('a crash', () => {
  it('after any step ends in the same state', () => {
    using whole = makeWorld();
    const { steps } = plan(whole, rich(whole));
    serve(whole, rich(whole));
    const goal = fingerprintOf(look(whole, rich(whole)));
    for (let k = 0; k < steps.length; k++) {
      using world = makeWorld();
      const served = rich(world);
      serve(world, served, k);
      expect(serve(world, served)).toMatchObject({ failed: new Map(), errors: [] });
      expect({ after: k, state: fingerprintOf(look(world, served)) }).toEqual({ after: k, state: goal });
      expect(plan(world, served).steps).toEqual([]);
    }
  });

  it('after any step leaves nothing once nobody asks for it', () => {
    const count = ((): number => {
      using world = makeWorld();
      return plan(world, rich(world)).steps.length;
    })();
    for (let k = 1; k < count; k++) {
      using world = makeWorld();
      const before = dump(world.node);
      serve(world, rich(world), k);
      detach(world, rich(world));
      expect({ after: k, dump: dump(world.node) }).toEqual({ after: k, dump: before });
    }
  });
});

describe('what is not ours', () => {
  it('is reported and left alone where it has a name of ours', () => {
    using world = makeWorld();
    world.pods[0]!.link.add({ kind: 'bridge', name: 'pc011' });
    world.node.link.add({ kind: 'bridge', name: 'pcbr1' });
    const before = dump(world.pods[0]!);
    const { interfaces } = plan(world, rich(world));
    expect(interfaces.map(({ reason }) => reason)).toEqual(['NameTaken', 'BridgeTaken']);
    serve(world, rich(world));
    expect(dump(world.pods[0]!)).toEqual(before);
  });

  it('keeps neither pod nor node from being served, where it is an IPv4 address in the form of an IPv6 one', () => {
    using world = makeWorld();
    const [served] = two(world);
    serve(world, served);
    const foreign = { address: '::ffff:10.0.0.1/128', flags: addressFlags.noDad };
    served.pod.address.add({ link: 'pc011', ...foreign });
    world.node.address.add({ link: 'pcbr0', ...foreign });
    served.pod.link.set('pc011', { mtu: 1400 });
    expect(serve(world, served)).toMatchObject({ failed: new Map(), errors: [] });
    expect(plan(world, served).steps).toEqual([]);
    tidyNode([networkOf(served)], { netns: world.node, view: world.view, log: silentLog });
    expect(prefixesOf(world.node, 'pcbr0')).toContain(foreign.address);
  });

  it('stays when it was put on our links', () => {
    using world = makeWorld();
    const served = rich(world);
    serve(world, served);
    world.pods[0]!.route.add({ dst: '198.51.100.0/24', via: '192.168.100.1' });
    world.node.filter.add({
      link: 'hpc011',
      parent: 'ingress',
      priority: 7,
      kind: 'bpf',
      data: { program: [[6, 0, 0, 0xffff_ffff]] },
    });
    expect(plan(world, served).steps).toEqual([]);
  });
});

describe('the port filter', () => {
  it('stops a pod that takes another address or MAC', () => {
    using world = makeWorld(2);
    const [a, b] = two(world);
    serve(world, a);
    serve(world, b);
    expect(reaches(world, 0, '192.168.100.3')).toBe(true);
    world.pods[0]!.address.add({ link: 'pc011', address: '192.168.100.77/24' });
    expect(() => tool(world.pods[0]!, 'ping', '-I', '192.168.100.77', '-c', '1', '-W', '1', '192.168.100.3')).toThrow(
      'Command failed',
    );
    world.pods[0]!.address.delete({ link: 'pc011', address: '192.168.100.77/24' });
    world.pods[0]!.link.set('pc011', { address: deriveMac('else', '192.168.100.9') });
    expect(ping(world, 0, '192.168.100.3')).toBe(false);
    serve(world, a);
    expect(reaches(world, 0, '192.168.100.3')).toBe(true);
  });
});

const mtuOf = (world: World, device: string): number | undefined => world.node.link.get(device).mtu;
const linkLocals = (netns: Netns, link: string): string[] =>
  prefixesOf(netns, link).filter((prefix) => prefix.startsWith('fe80'));

describe('what the kernel does by itself', () => {
  it('is part of the plan where the last IPv4 address goes, and all IPv4 routes with it', () => {
    using world = makeWorld();
    const served = rich(world);
    const [first, second] = served.spec.interfaces;
    serve(world, served);
    for (const addresses of [['192.168.100.7/24', 'fd00:100::2/64'], ['192.168.100.7/24', '192.168.100.8/24'], []]) {
      const routes = addresses.length === 0 ? [{ to: '203.0.113.0/24' }] : first!.routes.slice(0, 1);
      const moved = changed(served, { ...first!, addresses, routes }, second!);
      expect(serve(world, moved)).toMatchObject({ failed: new Map(), errors: [] });
      expect(plan(world, moved).steps).toEqual([]);
      expect(look(world, moved).pod?.routes.filter(({ to }) => to === '203.0.113.0/24')).toHaveLength(1);
    }
  });

  it('is part of the plan where the only gateway of a bridge moves', () => {
    using world = makeWorld();
    const [a] = two(world);
    const bridge = { ...podInterface(2).bridge!, gateways: ['192.168.100.1/24'] };
    serve(world, changed(a, podInterface(2, { bridge, addresses: ['192.168.100.2/24'] })));
    const gateways = ['192.168.100.254/24'];
    const moved = changed(a, podInterface(2, { bridge: { ...bridge, gateways }, addresses: ['192.168.100.2/24'] }));
    const tidy = (): void => tidyNode([networkOf(moved)], { netns: world.node, view: world.view, log: silentLog });
    world.view.touchAll();
    tidy();
    world.view.touchAll();
    const { addresses, routes } = world.view.current();
    expect(addresses.map(({ address }) => address)).toEqual(gateways);
    expect(routes.filter(({ type }) => type === 'unicast')).toMatchObject([{ to: '192.168.100.0/24' }]);
    serve(world, moved);
    expect(plan(world, moved).steps).toEqual([]);
  });

  it('does not move a bridge from the MTU that was asked for, whatever its ports have', () => {
    for (const asked of [1400, 1500]) {
      using world = makeWorld(2);
      const bridge = { ...podInterface(2).bridge!, mtuBytes: asked };
      const [a, b] = two(world);
      const [large, small] = [
        changed(a, podInterface(2, { bridge, mtuBytes: 9000 })),
        changed(b, podInterface(3, { bridge, mtuBytes: 1300 })),
      ];
      for (const served of [large, small]) {
        serve(world, served);
        expect(mtuOf(world, 'pcbr0')).toBe(asked);
        expect(plan(world, served).steps).toEqual([]);
      }
      serve(world, changed(small));
      expect(mtuOf(world, 'pcbr0')).toBe(asked);
    }
  });

  it('is mended on a bridge where drift is only reported when the bridge is wanted otherwise, and not before', () => {
    using world = makeWorld();
    const [a] = two(world);
    serve(world, a);
    const [tidied, extra] = [new Map<string, string>(), '192.168.100.77/24'];
    const tidy = (...all: Served[]): boolean => {
      world.view.touchAll();
      tidyNode(all.map(networkOf), { netns: world.node, view: world.view, log: silentLog, tidied });
      return prefixesOf(world.node, 'pcbr0').includes(extra);
    };
    tidy(a);
    world.node.address.add({ link: 'pcbr0', address: extra });
    expect(tidy(a)).toBe(true);
    const bridge = { ...podInterface(2).bridge!, gateways: ['192.168.100.1/24'] };
    expect(tidy(changed(a, podInterface(2, { bridge })))).toBe(false);
  });

  it('is made up for where nobody asks for the MTU of a bridge any more', () => {
    using world = makeWorld(2);
    const [a, b] = two(world);
    const bridge = { ...podInterface(2).bridge!, mtuBytes: 1400 };
    const unasked = changed(a, podInterface(2, { mtuBytes: 9000 }));
    serve(world, unasked);
    serve(world, changed(a, podInterface(2, { bridge, mtuBytes: 9000 })));
    expect(mtuOf(world, 'pcbr0')).toBe(1400);
    const tidy = (...all: Served[]): void => {
      world.view.touchAll();
      tidyNode(all.map(networkOf), { netns: world.node, view: world.view, log: silentLog });
    };
    serve(world, unasked);
    tidy(unasked);
    expect(mtuOf(world, 'pcbr0')).toBe(9000);
    serve(world, b);
    expect(mtuOf(world, 'pcbr0')).toBe(1500);
    expect([plan(world, unasked).steps, plan(world, b).steps]).toEqual([[], []]);
    serve(world, changed(b));
    tidy(unasked);
    expect(mtuOf(world, 'pcbr0')).toBe(9000);
  });

  it('takes IPv6 from links of less than 1280 bytes, which have all of it again with their MTU', () => {
    using world = makeWorld();
    const bridge = { ...podInterface(2).bridge!, mtuBytes: 1500 };
    const served = changed(two(world)[0], podInterface(2, { bridge }));
    serve(world, served);
    for (const link of ['hpc011', 'pcbr0']) world.node.link.set(link, { mtu: 1200 });
    served.pod.link.set('pc011', { mtu: 1200 });
    // With its MTU a link gets the kernel's own address mode: that shows only at the next look.
    for (let looks = 0; looks < 2; looks += 1)
      expect(serve(world, served)).toMatchObject({ failed: new Map(), errors: [] });
    expect(plan(world, served).steps).toEqual([]);
    expect(reaches(world, 0, 'fd00:100::1')).toBe(true);
  });

  it('does not leave a pod with the fe80:: address of a MAC that it had', () => {
    using world = makeWorld(2);
    const [a, b] = two(world);
    serve(world, a);
    serve(world, b);
    expect(reaches(world, 0, 'fd00:100::3')).toBe(true);
    const [before] = linkLocals(world.pods[0]!, 'pc011');
    const moved = changed(a, podInterface(7));
    serve(world, moved);
    const after = linkLocals(world.pods[0]!, 'pc011');
    expect(after).toHaveLength(1);
    expect(after).not.toContain(before);
    expect(plan(world, moved).steps).toEqual([]);
    const [other] = linkLocals(world.pods[1]!, 'pc012');
    expect(reaches(world, 0, `${other!.split('/')[0]}%pc011`)).toBe(true);
  });
});

type Hosts = readonly (readonly [host: number, routes?: readonly string[]])[];

/** A pod whose interfaces are all on one bridge, with these hosts' addresses and MACs. */
const onOneBridge = (world: World, ...interfaces: Hosts): Served => ({
  spec: podSpec(
    'uid-a',
    interfaces.map(([host, routes = []], i) =>
      podInterface(host, { key: `PodConfig/nets/${i}`, namePrefix: `pc${i}`, routes: routes.map((to) => ({ to })) }),
    ),
  ),
  pod: world.pods[0]!,
  pid: 11,
});

describe('interfaces of one pod that hand on what they have', () => {
  it.each<[string, Hosts, Hosts]>([
    ['two that swap their addresses', [[2], [3]], [[3], [2]]],
    ['three that pass them round', [[2], [3], [4]], [[3], [4], [2]]],
    ['one that takes a new address and leaves its own to the other', [[2], [3]], [[7], [2]]],
    ['one that takes the address of the other, which takes a new one', [[2], [3]], [[3], [7]]],
    [
      'two that swap their routes',
      [
        [2, ['203.0.113.0/24']],
        [3, ['fd00:200::/64']],
      ],
      [
        [2, ['fd00:200::/64']],
        [3, ['203.0.113.0/24']],
      ],
    ],
    [
      'two that swap all of it',
      [
        [2, ['203.0.113.0/24']],
        [3, ['fd00:200::/64']],
      ],
      [
        [3, ['fd00:200::/64']],
        [2, ['203.0.113.0/24']],
      ],
    ],
  ])('have it after another look, and also when that was cut short after any step: %s', (_, first, second) => {
    const begin = (world: World): Served => {
      serve(world, onOneBridge(world, ...first));
      serve(world, { ...two(world)[1], spec: podSpec('uid-b', [podInterface(9)]) });
      return onOneBridge(world, ...second);
    };
    const well = { failed: new Map(), errors: [] };
    using whole = makeWorld(2);
    const wanted = begin(whole);
    expect(plan(whole, wanted).interfaces.map(({ state }) => state)).toEqual(second.map(() => 'Pending'));
    const outcome = serve(whole, wanted);
    expect(outcome).toMatchObject(well);
    expect(plan(whole, wanted)).toMatchObject({ steps: [], interfaces: second.map(() => ({ state: 'Attached' })) });
    const reached = second.filter((_one, i) => reaches(whole, 0, '192.168.100.9', '-I', `pc${i}11`));
    expect(reached).toEqual(second);
    const goal = fingerprintOf(look(whole, wanted));
    for (let k = 0; k < outcome.steps; k++) {
      using world = makeWorld(2);
      const served = begin(world);
      serve(world, served, k);
      expect(serve(world, served)).toMatchObject(well);
      expect({ after: k, state: fingerprintOf(look(world, served)) }).toEqual({ after: k, state: goal });
      expect(plan(world, served).steps).toEqual([]);
    }
  });

  it('get all that the kernel does not refuse, also where one of them cannot have what it asks for', () => {
    using world = makeWorld();
    const before = onOneBridge(world, [2], [3], [4]);
    serve(world, before);
    const [a, b, c] = before.spec.interfaces;
    const state = fingerprintOf(look(world, before));
    const unreachable = [{ to: '198.18.0.0/16', via: '198.51.100.1' }];
    const give = (one: typeof a, other: typeof a) => ({ ...one!, addresses: other!.addresses });
    const wrong = changed(before, give(a, b), { ...give(b, a), routes: unreachable }, { ...c!, mtuBytes: 1400 });
    const { failed, errors } = serve(world, wrong);
    expect(errors).toEqual([]);
    expect([...failed.keys()]).toEqual([b!.key]);
    expect(world.pods[0]!.link.get('pc211').mtu).toBe(1400);
    expect(addressesOf(world.pods[0]!, 'pc011')).toEqual(b!.addresses);
    expect(serve(world, before)).toMatchObject({ failed: new Map(), errors: [] });
    expect(fingerprintOf(look(world, before))).toEqual(state);
    const right = changed(before, give(a, b), give(b, a), c!);
    expect(serve(world, right)).toMatchObject({ failed: new Map(), errors: [] });
    expect(plan(world, right).steps).toEqual([]);
  });

  it('get nothing of another pod', () => {
    using world = makeWorld(2);
    const before = onOneBridge(world, [2], [3]);
    serve(world, before);
    serve(world, { ...two(world)[1], spec: podSpec('uid-b', [podInterface(4)]) });
    const state = fingerprintOf(look(world, before));
    const { steps, interfaces } = plan(world, onOneBridge(world, [3], [4]));
    expect(interfaces.map(({ reason }) => reason)).toEqual(['MacTaken', 'MacTaken']);
    expect(steps).toEqual([]);
    expect(fingerprintOf(look(world, before))).toEqual(state);
  });
});

describe('a step that fails', () => {
  it('leaves a link that works as it was', async () => {
    using world = makeWorld();
    const served = rich(world);
    const [first, second] = served.spec.interfaces;
    const working = changed(served, { ...first!, addresses: [...first!.addresses, '192.168.100.3/24'] }, second!);
    serve(world, working);
    const before = fingerprintOf(look(world, working));
    const own = await vi.waitFor(() => {
      const addresses = linkLocals(world.pods[0]!, 'pc011');
      expect(addresses).toHaveLength(1); // the kernel makes it when the carrier is there
      return addresses;
    }, 60_000);
    const unreachable = { to: '198.18.0.0/16', via: '198.51.100.1' };
    const bridge = { name: 'pcbr2', device: 'pcbr2', gateways: ['192.168.102.1/24'], home: 'node' as const };
    const changes = [
      { addresses: ['192.168.100.7/24'] },
      { addresses: ['192.168.100.3/24', 'fd00:100::2/64'] },
      { addresses: [], macAddress: '02:00:00:00:00:bb', mtuBytes: 9000, alias: 'other' },
    ];
    for (const change of changes) {
      const outcome = serve(world, changed(working, { ...first!, ...change, routes: [unreachable] }, second!));
      expect([...outcome.failed.keys()]).toEqual(['PodConfig/nets/0']);
      expect(outcome.errors).toEqual([]);
      expect({ change, state: fingerprintOf(look(world, working)) }).toEqual({ change, state: before });
      expect(linkLocals(world.pods[0]!, 'pc011')).toEqual(own);
      expect(plan(world, working).steps).toEqual([]);
    }
    const outcome = serve(world, changed(working, { ...first!, bridge, routes: [unreachable] }, second!));
    expect([...outcome.failed.keys()]).toEqual(['PodConfig/nets/0']);
    expect(plan(world, working).steps).toEqual([]);
  });

  it('takes its own interface back and lets the other go on', () => {
    using world = makeWorld();
    const served = rich(world);
    const [first, second] = served.spec.interfaces;
    // The gateway of this route is nowhere: the kernel refuses it as the last step of the interface.
    const broken = { ...first!, routes: [{ to: '203.0.113.0/24', via: '198.51.100.1' }] };
    const wrong = { ...served, spec: { ...served.spec, interfaces: [broken, second!] } };
    const { failed } = serve(world, wrong);
    expect([...failed.keys()]).toEqual(['PodConfig/nets/0']);
    expect(String(failed.get('PodConfig/nets/0'))).toContain('Nexthop has invalid gateway');
    const names = world.pods[0]!.link.list().map(({ name }) => name);
    expect(names).toContain('pc111');
    expect(names).not.toContain('pc011');
    expect(serve(world, served).failed.size).toBe(0);
    expect(plan(world, served).steps).toEqual([]);
  });
});

describe('a route that is there already', () => {
  it.each([
    ['203.0.113.0/24', '10.244.0.7', '10.244.0.8'],
    ['fd00:200::/64', 'fd00:1::7', 'fd00:1::8'],
  ])('is ours only with the same next hop: %s', (to, via, other) => {
    using world = makeWorld();
    const pod = world.pods[0]!;
    pod.address.add({ link: 'eth0', address: 'fd00:1::2/64', flags: addressFlags.noDad });
    const add = (nextHop: string): void => {
      const route = { to, type: 'unicast', table: 254, metric: 50, protocol: routeProtocol, via: nextHop } as const;
      applyStep({ do: 'addRoute', in: 'pod', owner: 'primary', link: 'eth0', route }, { node: world.node, pod });
    };
    add(via);
    add(via);
    expect(() => add(other)).toThrow('EEXIST');
  });
});
