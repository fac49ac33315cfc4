/**
 * A kernel made of plain data, for tests and for showing what a plan would leave behind. It keeps the habits that plans must cope with:
 * a veth's ends die together, a port that moves loses flags and entries, a MAC that comes to a port leaves the bridge's other ports, a bridge that was given
 * no MTU takes the smallest of its ports, the first address of a subnet takes the others along and the last IPv4 one all IPv4 routes, a link's routes go with
 * it, a link that comes up makes its fe80:: address and keeps it. Steps that the real kernel refuses throw, so that a plan in the wrong order fails its test.
 */
import { Bug, cidrContains } from '@podloom/api';
import { programDigest } from '../plan/filter/assembler.ts';
import { isOurs } from '../plan/mark.ts';
import type { Observed, ObservedFdb, ObservedLink, ObservedNamespace, Where } from '../plan/observed.ts';
import type { CreateVeth, Step } from '../plan/step.ts';
import { linkLocalAddress, rangeOf } from '../address.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };
/** The kernel does not show that a bridge was given its MTU. */
type Link = ObservedLink & { readonly mtuIsGiven?: boolean };
type World = Record<Where, { -readonly [K in keyof ObservedNamespace]: ObservedNamespace[K][number][] }>;

const clone = (namespace: ObservedNamespace | undefined): World[Where] => ({
  links: [...(namespace?.links ?? [])],
  addresses: [...(namespace?.addresses ?? [])],
  routes: [...(namespace?.routes ?? [])],
  rules: [...(namespace?.rules ?? [])],
  filters: [...(namespace?.filters ?? [])],
  fdb: [...(namespace?.fdb ?? [])],
  sysctls: [...(namespace?.sysctls ?? [])],
});

export function simulate(steps: readonly Step[], observed: Observed): Observed {
  const world: World = { node: clone(observed.node), pod: clone(observed.pod) };
  for (const step of steps) applyStep(step, world);
  return { node: world.node, pod: observed.pod && world.pod };
}

const refuse = (step: Step, why: string): never => {
  throw new Bug('SIMULATION', `The kernel refuses ${step.do} in ${step.in}: ${why}`);
};

const freeIndex = (links: readonly ObservedLink[]): number => Math.max(0, ...links.map(({ index }) => index)) + 1;

function find(world: World, step: Step, name: string): ObservedLink {
  return world[step.in].links.find((link) => link.name === name) ?? refuse(step, `no link ${name}`);
}

function change(world: World, where: Where, index: number, values: Partial<Writable<Link>>): void {
  world[where].links = world[where].links.map((link) =>
    link.index === index ? Object.assign({ ...link }, values) : link,
  );
}

function applyStep(step: Step, world: World): void {
  const here = world[step.in];
  switch (step.do) {
    case 'createBridge':
      if (here.links.some(({ name }) => name === step.name)) refuse(step, 'EEXIST');
      here.links.push({
        index: freeIndex(here.links),
        name: step.name,
        kind: 'bridge',
        group: step.group,
        mac: step.mac,
        mtuBytes: 1500,
        up: false,
        addrGenMode: 'eui64',
      });
      return;
    case 'createVeth':
      createVeth(step, world);
      return;
    case 'setLink': {
      const link = find(world, step, step.link);
      if (step.set.up && step.set.addrGenMode) refuse(step, 'would be up before its address mode');
      if (step.set.addrGenMode && link.addrGenMode === undefined) refuse(step, 'EAFNOSUPPORT');
      if (step.set.name !== undefined && here.links.some(({ name }) => name === step.set.name)) refuse(step, 'EEXIST');
      const isGiven = link.kind === 'bridge' && (step.set.mtuBytes ?? link.mtuBytes) !== link.mtuBytes;
      change(world, step.in, link.index, isGiven ? { ...step.set, mtuIsGiven: true } : step.set);
      followPorts(world, step.in, link.master);
      if (step.set.up && !link.up && link.addrGenMode === 'eui64' && link.mac !== undefined) {
        here.addresses.push({ link: link.index, address: linkLocalAddress(link.mac) });
      }
      return;
    }
    case 'setMaster': {
      const { index, master } = find(world, step, step.link);
      here.fdb = here.fdb.filter((entry) => entry.link !== index);
      change(world, step.in, index, {
        master: find(world, step, step.master).index,
        portFlags: { learning: true, flood: true },
      });
      followPorts(world, step.in, master);
      followPorts(world, step.in, find(world, step, step.master).index);
      return;
    }
    case 'setPortFlags': {
      const link = find(world, step, step.link);
      if (link.master === undefined) refuse(step, 'not a port');
      change(world, step.in, link.index, { portFlags: step.flags });
      return;
    }
    case 'setPortFilter': {
      const { index } = find(world, step, step.link);
      const { priority, handle } = step;
      here.filters = here.filters.filter(
        (filter) => filter.link !== index || filter.priority !== priority || filter.handle !== handle,
      );
      here.filters.push({ link: index, priority, handle, kind: 'bpf', digest: programDigest(step.program) });
      return;
    }
    case 'addFdb':
    case 'removeFdb': {
      const link = find(world, step, step.link);
      if (link.master === undefined) refuse(step, 'not a port');
      const ports = new Set(here.links.flatMap((port) => (port.master === link.master ? port.index : [])));
      const goes = (entry: ObservedFdb): boolean =>
        entry.mac === step.mac && (step.do === 'addFdb' ? ports.has(entry.link) : entry.link === link.index);
      here.fdb = here.fdb.filter((entry) => !goes(entry));
      if (step.do === 'addFdb') here.fdb.push({ link: link.index, mac: step.mac, pinned: true });
      return;
    }
    case 'addAddress': {
      const { index } = find(world, step, step.link);
      if (!here.addresses.some((entry) => entry.link === index && entry.address === step.address))
        here.addresses.push({ link: index, address: step.address });
      return;
    }
    case 'removeAddress': {
      const { index } = find(world, step, step.link);
      const range = rangeOf(step.address);
      const subnet = here.addresses.filter((entry) => entry.link === index && rangeOf(entry.address) === range);
      const isPrimary = !range.includes(':') && subnet[0]?.address === step.address;
      here.addresses = here.addresses.filter(
        (entry) => entry.link !== index || (isPrimary ? !subnet.includes(entry) : entry.address !== step.address),
      );
      const isBare = !here.addresses.some(({ link, address }) => link === index && !address.includes(':'));
      if (isBare && isPrimary) here.routes = here.routes.filter(({ link, to }) => link !== index || to.includes(':'));
      return;
    }
    case 'addRoute': {
      const link = step.link === undefined ? undefined : find(world, step, step.link);
      if (link && !link.up) refuse(step, 'ENETDOWN');
      const { to, table, metric, via } = step.route;
      if (link && isOurs(link) && via !== undefined && !isNear(via, link.index, here))
        refuse(step, `ENETUNREACH ${via}`);
      if (here.routes.some((route) => route.to === to && route.table === table && route.metric === metric))
        refuse(step, `EEXIST ${to}`);
      here.routes.push({ ...step.route, link: link?.index });
      return;
    }
    case 'removeRoute': {
      const index = step.link === undefined ? undefined : find(world, step, step.link).index;
      here.routes = here.routes.filter(
        ({ link, to, table, metric, protocol }) =>
          link !== index ||
          to !== step.route.to ||
          table !== step.route.table ||
          metric !== step.route.metric ||
          protocol !== step.route.protocol,
      );
      return;
    }
    case 'addRule':
      here.rules.push(step.rule);
      return;
    case 'removeRule':
      here.rules = here.rules.filter((rule) => JSON.stringify(rule) !== JSON.stringify(step.rule));
      return;
    case 'setSysctl':
      here.sysctls = here.sysctls.filter((entry) => entry.link !== step.link || entry.name !== step.name);
      here.sysctls.push({ link: step.link, name: step.name, value: step.value });
      return;
    case 'deleteLink': {
      const link = here.links.find(
        (entry) => entry.index === step.index || (step.index === undefined && entry.name === step.link),
      );
      if (link) deleteLink(link, step.in, world);
      return;
    }
  }
}

const isNear = (via: string, link: number, { addresses, routes }: ObservedNamespace): boolean =>
  cidrContains('fe80::/10', via) ||
  addresses.some((entry) => entry.link === link && cidrContains(rangeOf(entry.address), via)) ||
  routes.some((route) => route.link === link && route.via === undefined && cidrContains(route.to, via));

/** br_mtu_auto_adjust() */
function followPorts(world: World, where: Where, index: number | undefined): void {
  const bridge = world[where].links.find((link): link is Link => link.index === index);
  if (!bridge || bridge.mtuIsGiven || bridge.kind !== 'bridge') return;
  const ports = world[where].links.filter(({ master }) => master === index).map(({ mtuBytes }) => mtuBytes);
  change(world, where, bridge.index, { mtuBytes: ports.length === 0 ? 1500 : Math.min(...ports) });
}

function createVeth(step: CreateVeth, world: World): void {
  const { node, pod } = world;
  if (node.links.some(({ name }) => name === step.name)) refuse(step, 'EEXIST');
  if (pod.links.some(({ name }) => name === step.peer.name)) refuse(step, 'EEXIST');
  const master = step.master === undefined ? undefined : find(world, step, step.master).index;
  const [index, peerIndex] = [freeIndex(node.links), freeIndex(pod.links)];
  const common = { kind: 'veth', group: step.group, up: false, addrGenMode: 'eui64' } as const;
  node.links.push({
    ...common,
    index,
    peerIndex,
    name: step.name,
    mac: step.mac,
    mtuBytes: step.mtuBytes,
    ...(master === undefined ? {} : { master, portFlags: { learning: true, flood: true } }),
  });
  pod.links.push({ ...common, ...step.peer, index: peerIndex, peerIndex: index });
  followPorts(world, 'node', master);
}

function deleteLink(link: ObservedLink, where: Where, world: World): void {
  const here = world[where];
  here.links = here.links.filter((other) => other !== link);
  for (const port of here.links.filter(({ master }) => master === link.index)) {
    change(world, where, port.index, { master: undefined, portFlags: undefined });
  }
  here.addresses = here.addresses.filter((entry) => entry.link !== link.index);
  here.routes = here.routes.filter((route) => route.link !== link.index);
  here.filters = here.filters.filter((filter) => filter.link !== link.index);
  here.fdb = here.fdb.filter((entry) => entry.link !== link.index);
  followPorts(world, where, link.master);
  if (link.kind !== 'veth') return;
  const there = where === 'node' ? 'pod' : 'node';
  const peer = world[there].links.find(({ index, peerIndex }) => index === link.peerIndex && peerIndex === link.index);
  if (peer) deleteLink(peer, there, world);
}
