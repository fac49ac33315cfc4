/**
 * A kernel made of plain data, for tests and for showing what a plan would leave behind. It keeps the habits that plans must cope with:
 * a veth's ends die together, a port that moves loses flags and entries, a MAC that comes to a port leaves the bridge's other ports, a bridge that was given
 * no MTU takes the smallest of its ports, the first address of a subnet takes the others along and the last IPv4 one all IPv4 routes, a link's routes go with
 * it, a link that comes up makes its fe80:: address and keeps it. Steps that the real kernel refuses throw, so that a plan in the wrong order fails its test.
 */
import { Bug, cidrContains } from '@podloom/api';
import { programDigest } from '../plan/filter/assembler.ts';
import { isOurs } from '../plan/mark.ts';
import type { Observed, ObservedFdb, ObservedLink, ObservedNamespace, Place } from '../plan/observed.ts';
import type { CreateLink, Step } from '../plan/step.ts';
import { linkLocalAddress, rangeOf } from '../address.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };
/** The kernel does not show that a bridge was given its MTU. */
type Link = ObservedLink & { readonly mtuIsGiven?: boolean };
type Room = { -readonly [K in keyof ObservedNamespace]: ObservedNamespace[K][number][] };
type World = Map<Place, Room>;

const clone = (namespace: ObservedNamespace | undefined): Room => ({
  links: [...(namespace?.links ?? [])],
  addresses: [...(namespace?.addresses ?? [])],
  routes: [...(namespace?.routes ?? [])],
  rules: [...(namespace?.rules ?? [])],
  filters: [...(namespace?.filters ?? [])],
  fdb: [...(namespace?.fdb ?? [])],
  sysctls: [...(namespace?.sysctls ?? [])],
});

export function simulate(steps: readonly Step[], observed: Observed): Observed {
  const places = (Object.entries(observed) as [Place, ObservedNamespace | undefined][]).filter(([, seen]) => seen);
  const world: World = new Map(places.map(([place, seen]) => [place, clone(seen)]));
  for (const step of steps) applyStep(step, world);
  return { ...observed, ...Object.fromEntries(world) };
}

const refuse = (step: Step, why: string): never => {
  throw new Bug('SIMULATION', `The kernel refuses ${step.do} in ${step.in}: ${why}`);
};

const freeIndex = ({ links }: Room): number => Math.max(0, ...links.map(({ index }) => index)) + 1;

function find(room: Room, step: Step, name: string): ObservedLink {
  return room.links.find((link) => link.name === name) ?? refuse(step, `no link ${name}`);
}

function change(room: Room, index: number, values: Partial<Writable<Link>>): void {
  room.links = room.links.map((link) => (link.index === index ? Object.assign({ ...link }, values) : link));
}

function applyStep(step: Step, world: World): void {
  const here = world.get(step.in) ?? refuse(step, 'no such place');
  switch (step.do) {
    case 'createLink':
      createLink(step, here, world);
      return;
    case 'setLink': {
      const link = find(here, step, step.link);
      if (step.set.up && step.set.addrGenMode) refuse(step, 'would be up before its address mode');
      if (step.set.addrGenMode && link.addrGenMode === undefined) refuse(step, 'EAFNOSUPPORT');
      if (step.set.name !== undefined && here.links.some(({ name }) => name === step.set.name)) refuse(step, 'EEXIST');
      const isGiven = link.kind === 'bridge' && (step.set.mtuBytes ?? link.mtuBytes) !== link.mtuBytes;
      change(here, link.index, isGiven ? { ...step.set, mtuIsGiven: true } : step.set);
      followPorts(here, link.master);
      if (step.set.up && !link.up && link.addrGenMode === 'eui64' && link.mac !== undefined) {
        here.addresses.push({ link: link.index, address: linkLocalAddress(link.mac) });
      }
      return;
    }
    case 'setMaster': {
      const { index, master } = find(here, step, step.link);
      here.fdb = here.fdb.filter((entry) => entry.link !== index);
      change(here, index, {
        master: find(here, step, step.master).index,
        portFlags: { learning: true, flood: true },
      });
      followPorts(here, master);
      followPorts(here, find(here, step, step.master).index);
      return;
    }
    case 'setPortFlags': {
      const link = find(here, step, step.link);
      if (link.master === undefined) refuse(step, 'not a port');
      change(here, link.index, { portFlags: step.flags });
      return;
    }
    case 'setPortFilter': {
      const { index } = find(here, step, step.link);
      const { priority, handle } = step;
      here.filters = here.filters.filter(
        (filter) => filter.link !== index || filter.priority !== priority || filter.handle !== handle,
      );
      here.filters.push({ link: index, priority, handle, kind: 'bpf', digest: programDigest(step.program) });
      return;
    }
    case 'addFdb':
    case 'removeFdb': {
      const link = find(here, step, step.link);
      if (link.master === undefined) refuse(step, 'not a port');
      const ports = new Set(here.links.flatMap((port) => (port.master === link.master ? port.index : [])));
      const goes = (entry: ObservedFdb): boolean =>
        entry.mac === step.mac && (step.do === 'addFdb' ? ports.has(entry.link) : entry.link === link.index);
      here.fdb = here.fdb.filter((entry) => !goes(entry));
      if (step.do === 'addFdb') here.fdb.push({ link: link.index, mac: step.mac, pinned: true });
      return;
    }
    case 'addAddress': {
      const { index } = find(here, step, step.link);
      if (!here.addresses.some((entry) => entry.link === index && entry.address === step.address))
        here.addresses.push({ link: index, address: step.address });
      return;
    }
    case 'removeAddress': {
      const { index } = find(here, step, step.link);
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
      const link = step.link === undefined ? undefined : find(here, step, step.link);
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
      const index = step.link === undefined ? undefined : find(here, step, step.link).index;
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
      if (link) deleteLink(link, here, world);
      return;
    }
  }
}

const isNear = (via: string, link: number, { addresses, routes }: ObservedNamespace): boolean =>
  cidrContains('fe80::/10', via) ||
  addresses.some((entry) => entry.link === link && cidrContains(rangeOf(entry.address), via)) ||
  routes.some((route) => route.link === link && route.via === undefined && cidrContains(route.to, via));

/** br_mtu_auto_adjust() */
function followPorts(room: Room, index: number | undefined): void {
  const bridge = room.links.find((link): link is Link => link.index === index);
  if (!bridge || bridge.mtuIsGiven || bridge.kind !== 'bridge') return;
  const ports = room.links.filter(({ master }) => master === index).map(({ mtuBytes }) => mtuBytes);
  change(room, bridge.index, { mtuBytes: ports.length === 0 ? 1500 : Math.min(...ports) });
}

function createLink(step: CreateLink, here: Room, world: World): void {
  const { kind, group, data, from, peer } = step;
  const there = peer && (world.get(peer.in) ?? refuse(step, 'no such place'));
  if (from) find(world.get(from.in) ?? refuse(step, 'no such place'), step, from.link);
  const master = step.master === undefined ? undefined : find(here, step, step.master).index;
  const index = freeIndex(here);
  const peerIndex = there === here ? index + 1 : there && freeIndex(there);
  const born = (
    room: Room,
    { name, mac, mtuBytes = 1500 }: Pick<CreateLink, 'name' | 'mac' | 'mtuBytes'>,
    more: Partial<Link>,
  ) => {
    if (room.links.some((link) => link.name === name)) refuse(step, 'EEXIST');
    room.links.push({ kind, group, name, mac, mtuBytes, up: false, addrGenMode: 'eui64', index, ...more });
  };
  born(here, step, {
    ...(data && { data }),
    ...(peerIndex === undefined ? {} : { peerIndex }),
    ...(master === undefined ? {} : { master, portFlags: { learning: true, flood: true } }),
  });
  if (there && peer && peerIndex !== undefined) born(there, peer, { index: peerIndex, peerIndex: index });
  followPorts(here, master);
}

function deleteLink(link: ObservedLink, here: Room, world: World): void {
  here.links = here.links.filter((other) => other !== link);
  for (const port of here.links.filter(({ master }) => master === link.index)) {
    change(here, port.index, { master: undefined, portFlags: undefined });
  }
  here.addresses = here.addresses.filter((entry) => entry.link !== link.index);
  here.routes = here.routes.filter((route) => route.link !== link.index);
  here.filters = here.filters.filter((filter) => filter.link !== link.index);
  here.fdb = here.fdb.filter((entry) => entry.link !== link.index);
  followPorts(here, link.master);
  if (link.peerIndex === undefined) return;
  for (const room of world.values()) {
    const isPeer = ({ index, peerIndex }: ObservedLink): boolean =>
      index === link.peerIndex && peerIndex === link.index;
    const peer = room === here ? undefined : room.links.find(isPeer);
    if (peer) {
      deleteLink(peer, room, world);
      return;
    }
  }
}
