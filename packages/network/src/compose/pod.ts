/**
 * All sources of a pod in one PodNetwork. The same objects give the same result in whatever order they come; what two of them cannot
 * both have goes to the older, and the younger is told whose it is.
 */
import { cidrContains, formatIp, parseIp, podNetworkRoom } from '@podloom/api';
import { renderCni } from '../cni/render.ts';
import { refOf } from '../source/attachment.ts';
import { choiceOf, namedBy, sourceTypeOf, sourceTypes } from '../source/registry.ts';
import type {
  LinkRequest,
  ObjectRef,
  PodIdentity,
  PrimaryRequest,
  Problem,
  RangeRequest,
  Requests,
  SourceObject,
} from '../source/source.ts';
import { routePlace } from '../route.ts';
import { byAge } from './age.ts';
import { gatewayOf, gatewaysOf } from './bridges.ts';
import type { AddressRequest, ComposeConflict, ComposedInterface, ComposedPod } from './composed.ts';
import { namingKey } from './devices.ts';
import { mergePrimaries, primaryCrowding, primaryRivalry } from './primary.ts';
import { linkRefusal, primaryRefusal } from './refusals.ts';
import type { Settled } from './settle.ts';

export interface ComposeOptions {
  /** From `bridgeDevices`; a bridge that is not in it has its plain name. */
  readonly devices?: ReadonlyMap<string, string>;
  /** An object that the pod names, of any namespace. Left out, those of the pod's own are found. */
  readonly find?: (ref: ObjectRef) => SourceObject | undefined;
  readonly types?: typeof sourceTypes;
}

type Request = LinkRequest | PrimaryRequest;

/** `settled` is of the pod's namespace. */
export function composePod(pod: PodIdentity, settled: Settled, options: ComposeOptions = {}): ComposedPod {
  if (pod.hostNetwork || pod.namespace !== settled.namespace)
    return { interfaces: [], conflicts: [], problems: [], unread: [] };
  const { requests, problems, unread } = requestedFor(pod, settled, options);
  const refusals: Problem[] = [];
  const accepted: Request[] = [];
  const conflicts: ComposeConflict[] = [];
  for (const request of requests.toSorted(byAge)) {
    const refusal = refusalOf(request, settled);
    if (refusal) {
      refusals.push(refusal);
      continue;
    }
    const conflict = settled.conflicts.get(request) ?? conflictWith(request, accepted);
    if (conflict) conflicts.push(conflict);
    else accepted.push(request);
  }
  const primary = mergePrimaries(accepted.filter(isPrimary));
  const links = accepted.filter(isLink).toSorted((a, b) => (a.order ?? -1) - (b.order ?? -1));
  return {
    interfaces: links.map((link) => composeInterface(link, settled, options.devices ?? new Map())),
    ...(primary === undefined ? {} : { primary }),
    conflicts,
    problems: [...problems, ...refusals],
    unread,
  };
}

const isPrimary = (request: Request): request is PrimaryRequest => 'primary' in request;
const isLink = (request: Request): request is LinkRequest => !isPrimary(request);

const refusalOf = (request: Request, { refusals, limits }: Settled): Problem | undefined =>
  refusals.get(request) ?? (isLink(request) ? linkRefusal(request, limits) : primaryRefusal(request, limits));

/** By the objects that choose the pod, and by those that it names. */
function requestedFor(
  pod: PodIdentity,
  { objects }: Settled,
  { find, types = sourceTypes }: ComposeOptions,
): { readonly requests: readonly Request[] } & Pick<ComposedPod, 'problems' | 'unread'> {
  const all: Pick<Requests, 'links' | 'primaries' | 'problems'>[] = [];
  const isChosen = choiceOf(pod, types);
  for (const [object, requests] of objects) if (isChosen(object)) all.push({ ...requests, problems: [] });

  const named = namedBy(pod, types);
  const problems = [...named.problems];
  for (const ref of named.refs) {
    const type = sourceTypeOf(ref.kind, types);
    if (!type?.requestsIn) continue;
    const object = find ? find(ref) : objects.keys().find((one) => placeOf(refOf(one)) === placeOf(ref));
    if (!object || object.metadata.deletionTimestamp) problems.push(missing(ref));
    else all.push(type.requestsIn(object, pod));
  }
  return {
    requests: all.flatMap(({ links = [], primaries = [] }) => [...links, ...primaries]),
    problems: [...problems, ...all.flatMap((one) => one.problems ?? [])],
    unread: named.unread,
  };
}

const placeOf = ({ kind, namespace, name }: ObjectRef): string => `${kind}/${namespace}/${name}`;

const missing = (ref: ObjectRef): Problem => ({
  ref,
  reason: 'NotFound',
  message: `There is no ${ref.kind} ${ref.name} in namespace ${ref.namespace}; make it, or take it out of the pod's annotation`,
});

function conflictWith(request: Request, older: readonly Request[]): ComposeConflict | undefined {
  const [links, primaries] = [older.filter(isLink), older.filter(isPrimary)];
  return isLink(request)
    ? (rivalry(request, links) ?? routeRivalry(request, older) ?? crowding(request, links))
    : (primaryRivalry(request, primaries) ?? routeRivalry(request, links) ?? primaryCrowding(request, primaries));
}

const sameText = (a: string | undefined, b: string | undefined): boolean => a !== undefined && a === b;

function rivalry(request: LinkRequest, older: readonly LinkRequest[]): ComposeConflict | undefined {
  for (const rival of older) {
    const refs = { loser: request.source.ref, winner: rival.source.ref };
    const whose = `${refs.winner.kind} ${refs.winner.name}`;
    if (sameText(request.name, rival.name) || sameText(request.namePrefix, rival.namePrefix)) {
      const message = `The pod has an interface ${request.name ?? request.namePrefix} from ${whose}; choose another name`;
      return { ...refs, reason: 'InterfaceConflict', message };
    }
    const shared = request.addresses.find((address) => rival.addresses.some((other) => sameIp(address, other)));
    if (shared !== undefined && networkOf(request) === networkOf(rival)) {
      const message = `The pod has ${shared} already, from ${whose}; choose another address`;
      return { ...refs, reason: 'AddressConflict', message };
    }
  }
  return undefined;
}

/** A pod has one list of routes, whichever links they go over. */
function routeRivalry(request: Request, older: readonly Request[]): ComposeConflict | undefined {
  const places = new Set(routesOf(request).map(routePlace));
  if (places.size === 0) return undefined;
  for (const rival of older) {
    const place = routesOf(rival)
      .map(routePlace)
      .find((one) => places.has(one));
    if (place === undefined) continue;
    const refs = { loser: request.source.ref, winner: rival.source.ref };
    const message = `The pod has a route to ${place} from ${refs.winner.kind} ${refs.winner.name}; choose another metric`;
    return { ...refs, reason: 'RouteConflict', message };
  }
  return undefined;
}

/** One too many is one object's loss; refused by the API server, it would be everybody's. */
function crowding(request: LinkRequest, older: readonly LinkRequest[]): ComposeConflict | undefined {
  const last = older.at(-1);
  if (!last || older.length < podNetworkRoom.interfaces) return undefined;
  const refs = { loser: request.source.ref, winner: last.source.ref };
  const message = `The pod has room for ${podNetworkRoom.interfaces} interfaces, of which ${refs.winner.kind} ${refs.winner.name} has the last`;
  return { ...refs, reason: 'InterfaceConflict', message };
}

const routesOf = (request: Request): LinkRequest['routes'] =>
  isPrimary(request) ? (request.primary.routes ?? []) : request.routes;

const sameIp = (a: string, b: string): boolean => formatIp(parseIp(a)) === formatIp(parseIp(b));

/** What a link takes its addresses of: the bridge that it is on. Without one it has none, and is a network by itself. */
export const networkOf = ({
  bridge,
  name,
  namePrefix,
}: Pick<LinkRequest, 'name' | 'namePrefix'> & {
  readonly bridge?: string | { readonly name: string } | undefined;
}): string => (typeof bridge === 'object' ? bridge.name : bridge) ?? name ?? namePrefix ?? '';

function composeInterface(
  request: LinkRequest,
  { bridges, namespace, limits }: Settled,
  devices: ReadonlyMap<string, string>,
): ComposedInterface {
  const bridge = request.bridge === undefined ? undefined : bridges.get(request.bridge);
  const { key, name, namePrefix, link, mtuBytes, macAddress, alias, routes, source } = request;
  const rendered = request.cni && renderCni(request.cni, limits.grants);
  return {
    interface: {
      key,
      ...(name === undefined ? {} : { name }),
      ...(namePrefix === undefined ? {} : { namePrefix }),
      source: source.ref,
      link,
      ...(rendered && 'cni' in rendered ? { cni: rendered.cni } : {}),
      ...(request.bridge !== undefined && bridge
        ? {
            bridge: {
              name: request.bridge,
              device: devices.get(namingKey(namespace, request.bridge)) ?? request.bridge,
              gateways: gatewaysOf(bridge),
              home: 'node',
              ...(bridge.mtuBytes === undefined ? {} : { mtuBytes: bridge.mtuBytes }),
            },
          }
        : {}),
      ...(mtuBytes === undefined ? {} : { mtuBytes }),
      ...(macAddress === undefined ? {} : { macAddress: macAddress.toLowerCase() }),
      ...(alias === undefined ? {} : { alias }),
      routes: [...routes],
    },
    // Without a bridge nobody decides what the range is like: each who names the link so would have it its own way.
    requests: bridge
      ? requestsOf(request, { ...bridge, cidrs: request.cidrs.length > 0 ? request.cidrs : bridge.cidrs })
      : [],
  };
}

/** In each range the static addresses that lie in it, or else the next free one. */
function requestsOf(request: LinkRequest, { cidrs, gateway, exclude }: Omit<RangeRequest, 'source'>): AddressRequest[] {
  return cidrs.flatMap((cidr): AddressRequest[] => {
    const network = networkOf(request);
    const inRange = exclude.filter((part) => cidrContains(cidr, part));
    const range = { network, cidr, gateway: gatewayOf(cidr, gateway), exclude: inRange };
    const statics = request.addresses.filter((address) => cidrContains(cidr, address));
    return statics.length === 0 ? [range] : statics.map((address) => Object.assign({ ...range }, { address }));
  });
}
