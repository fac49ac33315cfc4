import type { PodInterface, PodInterfaceStatus, PodNetworkSpec, PrimaryLinkRecord } from '@podloom/api';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  anyChange,
  anyForeign,
  anyMeddling,
  anyPod,
  anyWishes,
  desire,
  link,
  meddle,
  podUid,
  seen,
  wish,
} from '../testing/builders.ts';
import type { DesiredPod } from './desired.ts';
import { fingerprint } from '../testing/fingerprint.ts';
import { isOurs, linkGroup, podMark } from './mark.ts';
import { emptyNamespace, type Observed, type ObservedNamespace } from './observed.ts';
import { foreignPart, trespasses } from '../testing/ownership.ts';
import { planPod } from './pod.ts';
import { linkTypes } from '../link/types.ts';
import { planLooks } from '../explain/looks.ts';
import { simulate } from '../explain/simulate.ts';
import { type Step, interfaceOwner } from './step.ts';
import { isLinkLocal, linkLocalAddress } from '../address.ts';

const brief = (steps: readonly Step[]): string[] =>
  steps.map((step) => {
    const name = 'link' in step ? step.link : 'name' in step ? step.name : '';
    return `${step.do} ${name ?? ''}`.trim();
  });
/** Those that were asked for. */
const plainAddresses = ({ pod }: Observed): string[] =>
  (pod?.addresses ?? []).map(({ address }) => address).filter((address) => !isLinkLocal(address));
const where = (steps: readonly Step[]): string[] => steps.map((step) => step.in);
const bridgeWith = (mtuBytes: number | undefined) => ({ ...wish().bridge!, mtuBytes });
/** With links of ours so small that the kernel took IPv6 off them. */
const shrunk = ({ links, ...rest }: ObservedNamespace): ObservedNamespace => ({
  ...rest,
  links: links.map((one) =>
    isOurs(one) ? Object.assign({ ...one }, { mtuBytes: 1200, addrGenMode: undefined }) : one,
  ),
});
const settle = (desired: DesiredPod, observed: Observed): Observed => planLooks(desired, observed).after;

describe('planPod', () => {
  it('makes bridge, pair, port and addresses in the order in which nothing leaks', () => {
    const world = seen();
    const plan = planPod(desire([wish({ addresses: ['192.168.100.2/24', 'fd00:100::2/64'] })], world), world);
    expect(brief(plan.steps)).toEqual([
      'createLink pcbr0',
      'setLink pcbr0',
      'addRoute',
      'addRoute',
      'addRule',
      'addRule',
      'addRule',
      'addAddress pcbr0',
      'setLink pcbr0',
      'addRoute pcbr0',
      'createLink hpc02841804',
      'setLink hpc02841804',
      'setPortFlags hpc02841804',
      'addFdb hpc02841804',
      'setPortFilter hpc02841804',
      'setLink pc02841804',
      'addAddress pc02841804',
      'addAddress pc02841804',
      'setLink pc02841804',
      'setLink hpc02841804',
    ]);
    expect(plan.steps.filter((step) => step.do === 'addAddress')).toMatchObject([
      { in: 'node', noPrefixRoute: true, address: '192.168.100.1/24', broadcast: '192.168.100.255' },
      { in: 'pod', noPrefixRoute: false, noDad: false },
      { in: 'pod', noDad: true, address: 'fd00:100::2/64' },
    ]);
    expect(plan.interfaces).toMatchObject([
      { name: 'pc02841804', hostName: 'hpc02841804', state: 'Pending', bridgeDevice: 'pcbr0', mtuBytes: 1500 },
    ]);
  });

  it('puts nothing into the main table of the node', () => {
    const world = seen();
    const after = settle(desire([wish()], world), world);
    expect(after.node.routes.filter(({ table }) => table === 254)).toEqual([]);
    expect(after.node.addresses).toHaveLength(1);
  });

  it('changes MTU, MAC, alias, addresses and routes in place', () => {
    const before = seen();
    const running = settle(desire([wish({ routes: [{ to: '10.9.0.0/16', via: '192.168.100.1' }] })], before), before);
    const changed = wish({
      mtuBytes: 9000,
      macAddress: '02:00:00:00:00:09',
      alias: 'uplink',
      addresses: ['192.168.100.7/24'],
      routes: [{ to: '10.8.0.0/16', via: '192.168.100.1' }],
    });
    const { steps } = planPod(desire([changed], running), running);
    expect(brief(steps)).toEqual([
      'removeFdb hpc02841804',
      'addFdb hpc02841804',
      'setLink pc02841804',
      'setLink hpc02841804',
      'setLink pc02841804',
      'removeRoute pc02841804',
      'addAddress pc02841804',
      'removeAddress pc02841804',
      'removeAddress pc02841804',
      'addAddress pc02841804',
      'addRoute pc02841804',
      'setPortFilter hpc02841804',
    ]);
  });

  it('raises the MTU from the bridge towards the pod and lowers it the other way', () => {
    const before = seen();
    const small = settle(desire([wish({ mtuBytes: 1400 })], before), before);
    const large = settle(desire([wish({ mtuBytes: 9000 })], before), before);
    expect(where(planPod(desire([wish({ mtuBytes: 9000 })], small), small).steps)).toEqual(['node', 'pod']);
    const lowering = planPod(desire([wish({ mtuBytes: 1400 })], large), large).steps;
    expect(brief(lowering)).toEqual(['setLink pc02841804', 'setLink hpc02841804', 'setLink pcbr0']);
  });

  it('never takes the node end down or deletes it to mend it', () => {
    const before = seen();
    const running = settle(desire([wish()], before), before);
    const hurt: Observed = {
      ...running,
      node: {
        ...running.node,
        links: running.node.links.map((entry) =>
          entry.kind === 'veth' ? Object.assign({ ...entry }, { master: undefined, portFlags: undefined }) : entry,
        ),
        fdb: [],
        filters: [],
      },
    };
    expect(brief(planPod(desire([wish()], hurt), hurt).steps)).toEqual([
      'setMaster hpc02841804',
      'setPortFlags hpc02841804',
      'addFdb hpc02841804',
      'setPortFilter hpc02841804',
    ]);
  });

  it('puts back an address that the kernel drops together with the first of its subnet', () => {
    const before = seen();
    const running = settle(desire([wish({ addresses: ['192.168.100.2/24', '192.168.100.3/24'] })], before), before);
    const after = settle(desire([wish({ addresses: ['192.168.100.3/24'] })], running), running);
    expect(plainAddresses(after)).toEqual(['192.168.100.3/24']);
  });

  it('adds routes again that the kernel drops together with the last IPv4 address', () => {
    const before = seen();
    const routes = [{ to: '10.9.0.0/16', via: '192.168.100.1' }, { to: '10.8.0.0/16' }, { to: 'fd00:8::/64' }];
    const running = settle(desire([wish({ routes })], before), before);
    const moved = desire([wish({ routes, addresses: ['192.168.100.7/24'] })], running);
    const after = settle(moved, running);
    expect(after.pod?.routes.map(({ to }) => to).toSorted()).toEqual(['10.8.0.0/16', '10.9.0.0/16', 'fd00:8::/64']);
    expect(planPod(moved, after).steps).toEqual([]);
    const bare = settle(desire([wish({ routes: [routes[1]!], addresses: [] })], running), running);
    expect(bare.pod?.routes.map(({ to }) => to)).toEqual(['10.8.0.0/16']);
  });

  it('takes a metric of 0 for none, as the kernel does, where the route is of IPv6', () => {
    const before = seen();
    const routes = [
      { to: 'fd00:9::/64', metric: 0 },
      { to: '10.9.0.0/16', metric: 0 },
    ];
    const after = settle(desire([wish({ routes })], before), before);
    expect(after.pod?.routes.map(({ to, metric }) => `${to} ${metric}`).toSorted()).toEqual([
      '10.9.0.0/16 0',
      'fd00:9::/64 1024',
    ]);
  });

  it('gives a link whose MAC changes the fe80:: address that its filter lets pass, and leaves a new link to the kernel', () => {
    const before = seen();
    const running = settle(desire([wish()], before), before);
    const moved = desire([wish({ addresses: ['192.168.100.7/24'] })], running);
    const plan = planPod(moved, running);
    const after = simulate(plan.steps, running);
    expect(after.pod?.addresses.map(({ address }) => address).filter(isLinkLocal)).toEqual([
      linkLocalAddress(plan.interfaces[0]!.macAddress!),
    ]);
    const fresh = planPod(desire([wish()], before), before).steps;
    expect(fresh.filter((step) => step.do === 'addAddress' && isLinkLocal(step.address))).toEqual([]);
  });

  it('lowers a bridge that was given another MTU to its own, and never raises it', () => {
    const before = seen();
    const mtuAfter = (asked: number, mtuBytes: number): number | undefined => {
      const running = settle(desire([wish({ bridge: bridgeWith(asked) })], before), before);
      const after = settle(desire([wish({ bridge: bridgeWith(undefined), mtuBytes })], running), running);
      return after.node.links.find(({ name }) => name === 'pcbr0')?.mtuBytes;
    };
    expect([mtuAfter(9000, 1400), mtuAfter(1400, 9000)]).toEqual([1400, 1400]);
  });

  it('gives links that are too small for IPv6 their MTU back, and asks for no address mode before they have it', () => {
    const before = seen();
    const wanted = [wish({ bridge: bridgeWith(1500) })];
    const running = settle(desire(wanted, before), before);
    const small: Observed = { node: shrunk(running.node), pod: shrunk(running.pod!) };
    const mended = settle(desire(wanted, small), small);
    const ours = [...mended.node.links, ...mended.pod!.links].filter(isOurs);
    expect(ours.map(({ mtuBytes }) => mtuBytes)).toEqual([1500, 1500, 1500]);
  });

  it('leaves a second gateway address to those who asked for it: another pod may need what this one does not', () => {
    const before = seen();
    const bridge = { ...wish().bridge!, gateways: ['192.168.100.1/24', '192.168.101.1/24'] };
    const running = settle(desire([wish({ bridge })], before), before);
    expect(brief(planPod(desire([wish()], running), running).steps)).toEqual(['setPortFilter hpc02841804']);
  });

  it('makes the pair anew when its pod end is in another namespace', () => {
    const before = seen();
    const running = settle(desire([wish()], before), before);
    const fresh: Observed = { node: running.node, pod: seen().pod };
    const desired = desire([wish()], fresh);
    expect(brief(planLooks(desired, fresh).steps).slice(0, 2)).toEqual([
      'deleteLink hpc02841804',
      'createLink hpc02841804',
    ]);
    const after = settle(desired, fresh);
    expect(planPod(desired, after).steps).toEqual([]);
  });

  it('adopts a pair that a crash left before its owner was written on it', () => {
    const before = seen();
    const desired = desire([wish()], before);
    const { steps } = planPod(desired, before);
    const made = steps.findIndex((step) => step.do === 'createLink' && step.kind === 'veth') + 1;
    const crashed = simulate(steps.slice(0, made), before);
    expect(brief(planPod(desired, crashed).steps)).not.toContain('createLink hpc02841804');
  });

  it('removes a half-made pair that goes by the process id of a container that restarted', () => {
    const before = seen();
    const { steps } = planPod(desire([wish()], before), before);
    const made = steps.findIndex((step) => step.do === 'createLink' && step.kind === 'veth') + 1;
    const crashed = simulate(steps.slice(0, made), before);
    const renamed: DesiredPod = {
      ...desire([wish()], crashed),
      names: new Map([[wish().key, { pod: 'pc077', node: 'hpc077' }]]),
    };
    const after = settle(renamed, crashed);
    expect(after.pod?.links.map(({ name }) => name)).toEqual(['lo', 'eth0', 'pc077']);
    expect(after.node.links.map(({ name }) => name)).toEqual(['pcbr0', 'hpc077']);
  });

  it('does not take over a link that belongs to another interface of the pod, though it has the wanted name', () => {
    const before = seen();
    const running = settle(desire([wish()], before), before);
    const other = wish({ key: 'podconfig/a/other' });
    const names = new Map([[other.key, { pod: 'pc02841804', node: 'hpc02841804' }]]);
    expect(brief(planLooks({ ...desire([other], running), names }, running).steps).slice(0, 2)).toEqual([
      'deleteLink hpc02841804',
      'createLink hpc02841804',
    ]);
  });

  it('keeps the names of a link that runs when the process id is another', () => {
    const before = seen();
    const running = settle(desire([wish()], before), before);
    const spec = { podUid, interfaces: [wish()] };
    expect(desire([wish()], running).names.get(wish().key)).toEqual({ pod: 'pc02841804', node: 'hpc02841804' });
    expect(planPod({ ...desire([wish()], running), spec }, running).steps).toEqual([]);
  });

  it.each([
    ['a link of the pod', seen({}, { links: [link('pc02841804', 4)] }), 'NameTaken'],
    ['a link of the node', seen({ links: [link('hpc02841804', 4)] }), 'NameTaken'],
    ['a bridge of the node', seen({ links: [link('pcbr0', 4, { kind: 'bridge' })] }), 'BridgeTaken'],
    [
      'a link of another pod',
      seen({ links: [link('hpc02841804', 4, { group: linkGroup, kind: 'veth', alias: podMark('other', 'k') })] }),
      'NameTaken',
    ],
    [
      'a bridge of another namespace',
      seen({ links: [link('pcbr0', 4, { group: linkGroup, kind: 'bridge', alias: 'podloom bridge other/pcbr0' })] }),
      'BridgeTaken',
    ],
  ])('reports %s that has the wanted name, leaves it alone and goes on with the others', (_, world, reason) => {
    const other = wish({
      key: 'podconfig/a/pc1',
      namePrefix: 'pc1',
      bridge: { name: 'pcbr1', device: 'pcbr1', gateways: [], home: 'node' },
      addresses: ['192.168.99.2/24'],
    });
    const names = new Map([
      [wish().key, { pod: 'pc02841804', node: 'hpc02841804' }],
      [other.key, { pod: 'pc12841804', node: 'hpc12841804' }],
    ]);
    const plan = planPod({ ...desire([wish(), other], world), names }, world);
    expect(plan.interfaces).toMatchObject([{ state: 'Failed', reason }, { state: 'Pending' }]);
    expect(plan.steps.filter(({ owner }) => owner === interfaceOwner(wish().key))).toEqual([]);
    expect(simulate(plan.steps, world).node.links).toEqual(expect.arrayContaining([...world.node.links]));
  });

  it.each([
    ['UnsupportedLinkType', wish({ link: { type: 'macvlan' } })],
    ['BridgeMissing', wish({ bridge: undefined })],
    ['UnsupportedHome', wish({ bridge: { name: 'b', device: 'b', gateways: [], home: 'own' } })],
  ])('says %s and plans nothing', (reason, wanted) => {
    const world = seen();
    const plan = planPod(desire([wanted], world), world);
    expect(plan.steps).toEqual([]);
    expect(plan.interfaces).toMatchObject([{ state: 'Failed', reason }]);
  });

  it('names the field of either kind where a bridge is missing', () => {
    const world = seen();
    const [status] = planPod(desire([wish({ bridge: undefined })], world), world).interfaces;
    expect(status?.message).toMatch(/name one in bridge \(master in a PodConfig/);
  });

  it('removes the veth when the link is to be of another type', () => {
    const before = seen();
    const running = settle(desire([wish()], before), before);
    const plan = planPod(desire([wish({ link: { type: 'macvlan', parent: 'eth1' } })], running), running);
    expect(brief(plan.steps)).toEqual(['deleteLink hpc02841804']);
  });

  it('refuses a MAC that another port of the bridge has', () => {
    const before = seen();
    const other = {
      ...desire([wish({ macAddress: '02:00:00:00:00:01' })], before),
      spec: { podUid: 'other', interfaces: [wish({ macAddress: '02:00:00:00:00:01' })] },
    };
    const running = settle(other, before);
    const world: Observed = { node: running.node, pod: seen().pod };
    const mine = wish({ macAddress: '02:00:00:00:00:01', namePrefix: 'pc9' });
    expect(planPod(desire([mine], world), world).interfaces).toMatchObject([{ state: 'Failed', reason: 'MacTaken' }]);
  });

  it("refuses it also where a stray link of the pod has the indices of that port's own", () => {
    const before = seen();
    const mac = { macAddress: '02:00:00:00:00:01' };
    const other = { ...desire([wish(mac)], before), spec: { podUid: 'other', interfaces: [wish(mac)] } };
    const { node } = settle(other, before);
    const port = node.links.find(({ kind }) => kind === 'veth')!;
    const stray = link('stray', port.peerIndex!, { kind: 'veth', group: linkGroup, peerIndex: port.index });
    const world = seen(node, { links: [link('lo', 1), stray] });
    const plan = planPod(desire([wish({ ...mac, namePrefix: 'pc9' })], world), world);
    expect(plan.interfaces).toMatchObject([{ state: 'Failed', reason: 'MacTaken' }]);
    expect(brief(plan.steps)).toEqual(['deleteLink stray']);
  });

  it('waits for a pod that has no namespace', () => {
    const world: Observed = { node: seen().node };
    const plan = planPod(desire([wish()], world), world);
    expect(plan).toMatchObject({ steps: [], interfaces: [{ state: 'Pending', reason: 'PodNotRunning' }] });
  });

  it('keeps links that are asked for while the namespace of their pod is not found', () => {
    const before = seen();
    const two = [wish(), wish({ key: 'podconfig/a/pc1', namePrefix: 'pc1', addresses: ['192.168.100.3/24'] })];
    const { node } = settle(desire(two, before), before);
    expect(brief(planPod(desire([wish()], { node }), { node }).steps)).toEqual(['deleteLink hpc12841804']);
  });

  it('reports a route that someone else has, and leaves that route', () => {
    const world = seen(
      {},
      { routes: [{ to: '0.0.0.0/0', type: 'unicast', table: 254, metric: 0, protocol: 3, via: '10.0.0.1', link: 2 }] },
    );
    const plan = planPod(desire([wish({ routes: [{ to: '0.0.0.0/0', via: '192.168.100.1' }] })], world), world);
    expect(plan.interfaces).toMatchObject([{ state: 'Failed', reason: 'RouteTaken' }]);
    expect(plan.steps).toEqual([]);
  });

  it('shows what is being removed', () => {
    const before = seen();
    const running = settle(desire([wish()], before), before);
    const plan = planPod(desire([], running), running);
    expect(plan.interfaces).toEqual([
      { key: wish().key, name: 'pc02841804', hostName: 'hpc02841804', state: 'Removing' },
    ]);
    expect(simulate(plan.steps, running).pod).toEqual(before.pod);
  });
});

const isFailed = ({ state }: PodInterfaceStatus): boolean => state === 'Failed';

/** Interfaces of one bridge, each with its own address, MAC and routes where they are named. */
const several = (...more: Partial<PodInterface>[]): PodInterface[] =>
  more.map((one, i) => wish({ key: `podconfig/a/pc${i}`, namePrefix: `pc${i}`, ...one }));
const at = (...hosts: number[]): PodInterface[] =>
  several(...hosts.map((host) => ({ addresses: [`192.168.100.${host}/24`] })));
const to = (...destinations: (string | undefined)[]): PodInterface[] =>
  at(...destinations.map((_, i) => i + 2)).map((one, i) =>
    Object.assign(one, { routes: destinations.slice(i, i + 1).flatMap((text) => (text ? { to: text } : [])) }),
  );
const macs = (...last: number[]): PodInterface[] =>
  at(...last.map((_, i) => i + 2)).map((one, i) => Object.assign(one, { macAddress: `02:00:00:00:00:0${last[i]}` }));
const elsewhere = { ...wish().bridge!, name: 'pcbr1', device: 'pcbr1' };
const inPod = ({ pod }: Observed): string => fingerprint({ node: emptyNamespace, pod });

describe('what one interface of a pod has and another is to have', () => {
  it.each<[string, readonly PodInterface[], readonly PodInterface[]]>([
    ['two addresses that are swapped', at(2, 3), at(3, 2)],
    ['three that go round', at(2, 3, 4), at(3, 4, 2)],
    ['one whose owner takes a new one', at(2, 3), at(7, 2)],
    ['one whose owner, later in the list, takes a new one', at(2, 3), at(3, 7)],
    ['MACs that are swapped', macs(1, 2), macs(2, 1)],
    [
      'the MAC of one that goes to another bridge',
      at(2, 3),
      several({ addresses: [], bridge: elsewhere }, { addresses: ['192.168.100.2/24'] }),
    ],
    ['the address of one that goes away', at(2, 3), at(3)],
    ['a route', to('10.9.0.0/16', undefined), to(undefined, '10.9.0.0/16')],
    ['a route, the other way', to(undefined, '10.9.0.0/16'), to('10.9.0.0/16', undefined)],
    ['routes that are swapped', to('10.9.0.0/16', 'fd00:9::/64'), to('fd00:9::/64', '10.9.0.0/16')],
  ])('is given up at one look and taken at the next, whatever is cut short: %s', (_, first, second) => {
    const before = seen();
    const running = settle(desire(first, before), before);
    const { steps, after, last } = planLooks(desire(second, running), running);
    expect(last).toMatchObject({ lookAgain: false });
    expect(trespasses(steps, running)).toEqual([]);
    const fresh = settle(desire(second, before), before);
    expect(planPod(desire(second, after), after)).toMatchObject({
      steps: [],
      interfaces: second.map(() => ({ state: 'Attached' })),
    });
    expect(inPod(after)).toBe(inPod(fresh));
    for (let done = 0; done < steps.length; done += 1) {
      const crashed = simulate(steps.slice(0, done), running);
      expect(fingerprint(settle(desire(second, crashed), crashed))).toBe(fingerprint(after));
      // Or the wish is taken back.
      expect(inPod(settle(desire(first, crashed), crashed))).toBe(inPod(running));
    }
  });

  it('is waited for with the reason, and not reported as failed', () => {
    const before = seen();
    const running = settle(desire(at(2, 3), before), before);
    const plan = planPod(desire(at(3, 2), running), running);
    expect(plan.lookAgain).toBe(true);
    expect(plan.interfaces).toMatchObject([
      { state: 'Pending', reason: 'MacTaken', message: expect.stringContaining('give it up first') as unknown },
      { state: 'Pending', reason: 'MacTaken' },
    ]);
    expect(brief(plan.steps)).toEqual([
      'removeFdb hpc02841804',
      'removeAddress pc02841804',
      'removeFdb hpc12841804',
      'removeAddress pc12841804',
    ]);
  });

  it('is waited for where its owner cannot have what it asks for, and so keeps it; nobody gives up what no one can take', () => {
    const theirs = { to: '10.9.0.0/16', type: 'unicast', table: 254, metric: 0, protocol: 3, link: 2 } as const;
    const before = seen({}, { routes: [theirs] });
    const running = settle(desire(at(2, 3, 4), before), before);
    const [first, second, third] = at(7, 2, 8);
    const wanted = [Object.assign(first!, { routes: [{ to: theirs.to }] }), second!, third!];
    const plan = planPod(desire(wanted, running), running);
    expect(plan.interfaces).toMatchObject([
      { state: 'Failed', reason: 'RouteTaken' },
      { state: 'Pending', reason: 'MacTaken' },
      { state: 'Pending' },
    ]);
    expect(new Set(plan.steps.map(({ owner }) => owner))).toEqual(new Set([interfaceOwner(third!.key)]));
    const after = settle(desire(wanted, running), running);
    expect(planPod(desire(wanted, after), after)).toMatchObject({ steps: [], lookAgain: false });
  });

  it('is not to be had where another pod has it, and nothing is given up for it', () => {
    const before = seen();
    const theirs = { ...desire(at(4), before), spec: { podUid: 'other', interfaces: at(4) } };
    const { node } = settle({ ...theirs, names: new Map([[at(4)[0]!.key, { pod: 'x', node: 'hx' }]]) }, before);
    const running = settle(desire(at(2, 3), { ...before, node }), { ...before, node });
    const plan = planPod(desire(at(3, 4), running), running);
    expect(plan).toMatchObject({
      steps: [],
      lookAgain: false,
      interfaces: [
        { state: 'Pending', reason: 'MacTaken' },
        { state: 'Failed', reason: 'MacTaken' },
      ],
    });
  });

  it('may be of the primary link, or come to it', () => {
    const before = seen();
    const sources = [{ apiVersion: 'podnetwork.opdev.io/v1alpha1', kind: 'PrimaryNetwork', name: 'p' }];
    const primary = { interfaceName: 'eth0', routes: [{ to: '10.9.0.0/16' }], sources };
    const primaryRecord = { interfaceName: 'eth0' };
    const [onLink, onPrimary] = [to('10.9.0.0/16'), to(undefined)];
    let world = settle(desire(onPrimary, before, { primary, primaryRecord }), before);
    for (const desired of [
      desire(onLink, world, { primaryRecord }),
      desire(onPrimary, world, { primary, primaryRecord }),
    ]) {
      const { last, after } = planLooks(desired, world);
      expect(last.interfaces.filter(isFailed)).toEqual([]);
      expect(last.primary?.reason).toBeUndefined();
      world = after;
      expect(world.pod?.routes).toHaveLength(1);
      expect(planPod(desired, world).steps).toEqual([]);
    }
  });
});

interface Served {
  readonly world: Observed;
  readonly record?: PrimaryLinkRecord | undefined;
}

/** Plans and carries out until there is nothing to do, as the agent does it: what a link had is written down before it is changed. */
function serve(
  { world, record }: Served,
  interfaces: readonly PodInterface[],
  primary: PodNetworkSpec['primary'],
): Served {
  let now: Served = { world, record };
  // At most: the former primary link back, the next one recorded, changed, what was given up taken, done.
  for (let round = 0; round < 6; round += 1) {
    const plan = planPod(desire(interfaces, now.world, { primary, primaryRecord: now.record }), now.world);
    expect(trespasses(plan.steps, now.world, now.record)).toEqual([]);
    if (plan.steps.length === 0 && !plan.recordFirst) return { ...now, record: plan.primary?.record };
    now = { world: simulate(plan.steps, now.world), record: plan.primary?.record };
  }
  throw new Error('There is always something left to do');
}

/** What the pod has on a link, said without the planner's help. */
function shownIn(
  { node, pod }: Observed,
  { name, hostName }: { name?: string | undefined; hostName?: string | undefined },
): unknown {
  const podEnd = pod?.links.find((entry) => entry.name === name);
  const nodeEnd = node.links.find((entry) => entry.name === hostName);
  const bridge = node.links.find(({ index }) => index === nodeEnd?.master);
  return {
    up: [podEnd?.up, nodeEnd?.up],
    mtuBytes: [podEnd?.mtuBytes, nodeEnd?.mtuBytes],
    bridge: bridge?.name,
    bridgeMtuBytes: bridge?.mtuBytes,
    flags: nodeEnd?.portFlags,
    alias: podEnd?.alias,
    addresses: pod?.addresses.flatMap((entry) => (entry.link === podEnd?.index ? entry.address : [])).toSorted(),
    routes: pod?.routes.flatMap((route) => (route.link === podEnd?.index ? route.to : [])).toSorted(),
    entries: node.fdb.flatMap((entry) => (nodeEnd && entry.link === nodeEnd.index ? entry.mac : [])),
    filters: node.filters.filter((filter) => nodeEnd && filter.link === nodeEnd.index).length,
  };
}

/** The same as the object asks for it. */
function shownAs(wanted: PodInterface, { macAddress = '' }: PodInterfaceStatus, { node }: Observed): unknown {
  const mtuBytes = wanted.mtuBytes ?? 1500;
  const isPort = linkTypes[wanted.link.type]?.isPair === true;
  const bridge = isPort ? wanted.bridge : undefined;
  const seenMtu = node.links.find(({ name }) => name === bridge?.device)?.mtuBytes ?? 0;
  return {
    up: [true, isPort || undefined],
    mtuBytes: [mtuBytes, isPort ? mtuBytes : undefined],
    bridge: bridge?.device,
    bridgeMtuBytes: bridge && (bridge.mtuBytes ?? Math.min(seenMtu, mtuBytes)),
    flags: isPort ? { learning: false, flood: false } : undefined,
    alias: wanted.alias ?? podMark(podUid, wanted.key),
    addresses: [...wanted.addresses, linkLocalAddress(macAddress)].toSorted(),
    routes: wanted.routes.map((route) => route.to).toSorted(),
    entries: isPort ? [macAddress] : [],
    filters: isPort ? 1 : 0,
  };
}

describe('any plan of a pod', () => {
  it('gives every interface that can be had exactly what it asked for', () => {
    let had = 0;
    fc.assert(
      fc.property(anyChange, anyForeign, ([first, second], before) => {
        const between = settle(desire(first, before), before);
        const after = settle(desire(second, between), between);
        const statuses = planPod(desire(second, after), after).interfaces;
        const refused = statuses.filter(({ state }) => state !== 'Attached');
        expect(refused.filter(({ reason }) => !reason?.endsWith('Taken'))).toEqual([]);
        // Who waits at the end waits for one that failed and keeps what it has.
        expect(refused.length === 0 || refused.some(isFailed)).toBe(true);
        for (const status of statuses.filter(({ state }) => state === 'Attached')) {
          const wanted = second.find(({ key }) => key === status.key)!;
          had += 1;
          expect(shownIn(after, status)).toEqual(shownAs(wanted, status, after));
        }
      }),
    );
    expect(had).toBeGreaterThan(20);
  });

  it('gives what can be had also to who has had something else, in two looks where one link takes what another has', () => {
    let handedOn = 0;
    fc.assert(
      fc.property(anyChange, anyForeign, ([first, second], before) => {
        fc.pre(!planPod(desire(second, before), before).interfaces.some(isFailed));
        const between = settle(desire(first, before), before);
        const plan = planPod(desire(second, between), between);
        expect(plan.interfaces.filter(isFailed)).toEqual([]);
        expect(trespasses(plan.steps, between)).toEqual([]);
        const given = simulate(plan.steps, between);
        const next = planPod(desire(second, given), given);
        expect(trespasses(next.steps, given)).toEqual([]);
        expect(next.steps.length > 0).toBe(plan.lookAgain);
        const after = simulate(next.steps, given);
        expect(planPod(desire(second, after), after)).toMatchObject({
          steps: [],
          interfaces: second.map(() => ({ state: 'Attached' })),
        });
        if (plan.lookAgain) handedOn += 1;
      }),
      { numRuns: 300 },
    );
    expect(handedOn).toBeGreaterThan(5);
  });

  it('leaves nothing to do once it was carried out', () => {
    fc.assert(
      fc.property(anyChange, anyForeign, ([first, second], before) => {
        const between = settle(desire(first, before), before);
        const after = settle(desire(second, between), between);
        expect(planPod(desire(second, after), after).steps).toEqual([]);
      }),
    );
  });

  it('leaves everything that is not ours as it was', () => {
    fc.assert(
      fc.property(anyChange, anyForeign, ([first, second], before) => {
        const between = settle(desire(first, before), before);
        const after = settle(desire(second, between), between);
        expect(foreignPart(after.node)).toEqual(foreignPart(before.node));
        expect(foreignPart(after.pod)).toEqual(foreignPart(before.pod));
      }),
    );
  });

  it('takes steps only on what is ours or recorded, whatever others do to it, and gives back what a primary link had', () => {
    let steps = 0;
    fc.assert(
      fc.property(anyPod, anyPod, anyForeign, anyMeddling, (first, second, before, meddling) => {
        const between = serve({ world: before }, ...first);
        const meddled = { ...between, world: meddle(between.world, meddling) };
        const after = serve(meddled, ...second);
        expect(foreignPart(after.world.node)).toEqual(foreignPart(meddled.world.node));
        const asked = second[1]?.interfaceName;
        expect(foreignPart(after.world.pod, asked)).toEqual(foreignPart(before.pod, asked));
        const bare = serve({ ...after, world: meddle(after.world, meddling) }, [], undefined);
        expect(bare.record).toBeUndefined();
        expect(foreignPart(bare.world.pod)).toEqual(foreignPart(before.pod));
        expect(bare.world.pod?.links.some(isOurs)).toBe(false);
        steps += planPod(desire(first[0], before), before).steps.length;
      }),
      { numRuns: 300 },
    );
    expect(steps).toBeGreaterThan(300);
  });

  it('ends the same when it was cut short after any step and planned anew', () => {
    fc.assert(
      fc.property(anyChange, anyForeign, fc.nat(), ([first, second], before, cut) => {
        const between = settle(desire(first, before), before);
        const { steps, after: straight } = planLooks(desire(second, between), between);
        const crashed = simulate(steps.slice(0, cut % (steps.length + 1)), between);
        const mended = settle(desire(second, crashed), crashed);
        expect(fingerprint(mended)).toBe(fingerprint(straight));
      }),
    );
  });

  it('takes away all of it again', () => {
    fc.assert(
      fc.property(anyWishes, anyForeign, (wishes, before) => {
        const between = settle(desire(wishes, before), before);
        const after = settle(desire([], between), between);
        expect(after.pod?.links.some(isOurs)).toBe(false);
        expect(after.node.links.filter((entry) => isOurs(entry) && entry.kind !== 'bridge')).toEqual([]);
      }),
    );
  });
});
