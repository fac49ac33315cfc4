/** Carries out one step: a step is a netlink message or two. It knows no policy; whether a step is right was decided by the plan. */
import { Bug, Unavailable } from '@podloom/api';
import {
  type LinkAdd,
  type Netns,
  type Route as SeenRoute,
  type RouteSettings,
  type RuleSettings,
  addressFlags,
  isNetlinkError,
} from '@podloom/netlink';
import { type LinkSettings, type Place, type Route, type Rule, type Step, leavingGroup } from '@podloom/network';
import { addrGenModeNumber } from '../observe/link.ts';
import { setSysctl, sysctlPath } from './sysctl.ts';

/** The namespaces that steps may happen in. */
export type Namespaces = { readonly [P in Place]?: Netns | undefined };

type Apply<K extends Step['do']> = (here: Netns, step: Extract<Step, { do: K }>, all: Namespaces) => void;

const apply: { readonly [K in Step['do']]: Apply<K> } = {
  createLink(here, { kind, data, from, peer, master, group, ...birth }, all) {
    // A link below is looked for where the message is sent.
    const at = from ? namespaceOf(from.in, all) : here;
    at.link.add({
      ...bornAs(birth),
      kind,
      data,
      group,
      master,
      link: from?.link,
      netns: at === here ? undefined : here,
      peer: peer && { ...bornAs(peer), group, netns: namespaceOf(peer.in, all) },
    } as LinkAdd);
  },
  setLink: (here, { link, set }) => here.link.set(link, linkChange(set)),
  setMaster: (here, { link, master }) => here.link.set(link, { master }),
  setPortFlags: (here, { link, flags }) => here.link.set(link, { portKind: 'bridge', port: { ...flags } }),
  setPortFilter(here, { link, priority, handle, program }) {
    const index = here.link.indexOf(link);
    tolerating('EEXIST', () => here.qdisc.add({ link: index, kind: 'clsact' }));
    here.filter.replace({
      link: index,
      parent: 'ingress',
      priority,
      handle,
      kind: 'bpf',
      data: { program },
    });
  },
  addFdb: (here, { link, mac }) => here.fdb.replace({ link, lladdr: mac, master: true, state: 'static', sticky: true }),
  removeFdb: (here, { link, mac }) =>
    tolerating('ENOENT', () => here.fdb.delete({ link, lladdr: mac, master: true, state: 'static' })),
  addAddress(here, { link, address, broadcast, noDad, noPrefixRoute, mustBeFree }) {
    if (mustBeFree) refuseTaken(here, link, address);
    const flags = (noDad ? addressFlags.noDad : 0) | (noPrefixRoute ? addressFlags.noPrefixRoute : 0);
    here.address.replace({ link, address, broadcast, flags });
  },
  removeAddress: (here, { link, address }) => tolerating('EADDRNOTAVAIL', () => here.address.delete({ link, address })),
  addRoute(here, { link, route }) {
    try {
      here.route.add(routeSettings(route, link));
    } catch (error) {
      if (!isNetlinkError(error, 'EEXIST') || !hasRoute(here, route, link)) throw error;
    }
  },
  removeRoute: (here, { link, route }) => tolerating('ESRCH', () => here.route.delete(routeSettings(route, link))),
  addRule: (here, { rule }) => tolerating('EEXIST', () => here.rule.add(ruleSettings(rule))),
  removeRule: (here, { rule }) => tolerating('ENOENT', () => here.rule.delete(ruleSettings(rule))),
  setSysctl: (here, { link, name, value }) => setSysctl(here, sysctlPath(name, link), value),
  deleteLink: (here, { link, index }) => tolerating('ENODEV', () => here.link.delete(index ?? link)),
};

export type DeleteLink = Extract<Step, { do: 'deleteLink' }>;

/** Links of one place, at the price of one: the kernel waits for readers once, and not once a link. */
export function deleteLinks(steps: readonly DeleteLink[], all: Namespaces): void {
  const [first] = steps;
  if (!first) return;
  const here = namespaceOf(first.in, all);
  for (const { link, index } of steps) {
    tolerating('ENODEV', () => here.link.set(index ?? link, { group: leavingGroup }));
  }
  tolerating('ENODEV', () => here.link.deleteGroup(leavingGroup));
}

export function applyStep(step: Step, all: Namespaces): void {
  (apply[step.do] as Apply<Step['do']>)(namespaceOf(step.in, all), step, all);
}

/** The one place where a place becomes a namespace. */
function namespaceOf(place: Place, all: Namespaces): Netns {
  const netns = all[place];
  if (!netns) throw new Bug('NO_NAMESPACE', `A step in ${place} was planned, but there is no such namespace`);
  return netns;
}

type Birth = Pick<Extract<Step, { do: 'createLink' }>, 'name' | 'mac' | 'mtuBytes' | 'queues'>;

const bornAs = ({ name, mac, mtuBytes, queues }: Birth) => ({
  name,
  address: mac,
  mtu: mtuBytes,
  ...(queues === undefined ? {} : { numTxQueues: queues, numRxQueues: queues }),
});

/**
 * An address of the node is the node's for everyone on it. One that it reaches over another link, its neighbour or another bridge's gateway, would be
 * taken from there, and the node perhaps from its cluster.
 */
function refuseTaken(node: Netns, link: string, address: string): void {
  const [ip = ''] = address.split('/');
  const entry = entryFor(node, ip);
  if (!entry || entry.dst === 'default' || entry.type === 'unreachable') return;
  if (entry.link === node.link.indexOf(link)) return;
  const owner = entry.link === undefined ? '' : ` over ${node.link.get(entry.link).name}`;
  const message = `${ip} cannot be a gateway on this node, which has ${entry.dst}${owner}; choose another range or gateway, or None`;
  throw new Unavailable('GATEWAY_TAKEN', message);
}

function entryFor(node: Netns, ip: string): SeenRoute | undefined {
  try {
    return node.route.get(ip, { entry: true });
  } catch (error) {
    if (isNetlinkError(error)) return undefined; // no route at all, or one that leads nowhere
    throw error;
  }
}

function tolerating(code: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isNetlinkError(error, code)) throw error;
  }
}

function linkChange({ name, group, alias, mac, mtuBytes, txQueueLength, addrGenMode, up }: LinkSettings) {
  return {
    name,
    group,
    alias,
    address: mac,
    mtu: mtuBytes,
    txqlen: txQueueLength,
    up,
    afSpec: addrGenMode === undefined ? undefined : { inet6: { addrGenMode: addrGenModeNumber(addrGenMode) } },
  };
}

const familyOf = (to: string): number => (to.includes(':') ? 10 : 2);

const routeSettings = ({ to, type, table, metric, protocol, via }: Route, link: string | undefined): RouteSettings => ({
  dst: to,
  family: familyOf(to),
  type,
  table,
  metric,
  protocol,
  via,
  link,
});

function hasRoute(here: Netns, { to, table, metric, protocol, via }: Route, link: string | undefined): boolean {
  const [family, index] = [familyOf(to), link === undefined ? undefined : here.link.indexOf(link)];
  return here.route
    .list({ family, table, protocol })
    .some(
      (route) =>
        (route.dst === to || (route.dst === 'default' && to.endsWith('/0'))) &&
        (route.metric ?? 0) === metric &&
        route.via === via &&
        (index === undefined || route.link === index),
    );
}

const ruleSettings = ({ family, priority, table, protocol, from, iif }: Rule): RuleSettings => ({
  family: family === 4 ? 2 : 10,
  priority,
  table,
  protocol,
  from,
  iif,
});

/** What went wrong, for the status: a word and the kernel's sentence. */
export function describeFailure(error: unknown): { readonly reason: string; readonly message: string } {
  if (isNetlinkError(error)) return { reason: 'KernelRefused', message: error.message };
  if (error instanceof Unavailable) {
    return { reason: error.code === 'GATEWAY_TAKEN' ? 'GatewayTaken' : 'NodeUnavailable', message: error.message };
  }
  return { reason: 'InternalError', message: error instanceof Error ? error.message : String(error) };
}
