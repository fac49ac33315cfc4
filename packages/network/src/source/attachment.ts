/** What several kinds spell alike: who asks, ranges, and the attachments of the two upstream kinds. */
import {
  type KubeObject,
  type PodConfig,
  type PodNetworkConfig,
  formatIp,
  InvalidInput,
  isIp,
  linkOf,
  parseCidr,
  parseIp,
} from '@podloom/api';
import { rangeOf } from '../address.ts';
import { routePlace } from '../route.ts';
import { interfaceKey } from './key.ts';
import type { LinkRequest, ObjectRef, RangeRequest, Source } from './source.ts';

export const refOf = ({ apiVersion, kind, metadata }: KubeObject, fieldPath?: string): ObjectRef => ({
  apiVersion,
  kind,
  namespace: metadata.namespace ?? '',
  name: metadata.name ?? '',
  ...(fieldPath === undefined ? {} : { fieldPath }),
});

export const sourceOf = (object: KubeObject, fieldPath?: string): Source => ({
  ref: refOf(object, fieldPath),
  since: object.metadata.creationTimestamp ?? '',
});

interface Ranged {
  readonly cidr?: string | undefined;
  readonly cidrs?: readonly string[] | undefined;
  readonly gateway?: string | undefined;
  readonly exclude?: readonly string[] | undefined;
}

/** In canonical spelling, so that the same range is the same text. Throws for texts that are none, and for a gateway that cannot be one. */
export function readRanges({ cidr, cidrs, gateway, exclude }: Ranged): Omit<RangeRequest, 'source'> {
  const ranges = (cidrs ?? (cidr === undefined ? [] : [cidr])).map(rangeOf);
  const address = gateway !== undefined && isIp(gateway) ? formatIp(parseIp(gateway)) : undefined;
  const edged = ranges.find((range) => address !== undefined && isEdge(range, address));
  if (edged !== undefined) {
    const message = `The gateway ${address} is the network or broadcast address of ${edged}; choose another`;
    throw new InvalidInput('GATEWAY', message);
  }
  return { cidrs: ranges, gateway: address ?? gateway, exclude: (exclude ?? []).map(rangeOf) };
}

/** Of a pair (RFC 3021) both are hosts, and of IPv6 the network address is every router's own (RFC 4291 section 2.6.1). */
function isEdge(range: string, address: string): boolean {
  const { family, prefixLength, first, last } = parseCidr(range);
  const { family: own, value } = parseIp(address);
  return family === 4 && own === 4 && prefixLength <= 30 && (value === first || value === last);
}

type Routes = LinkRequest['routes'];

/** Throws where two of them are one for the kernel. */
export function readRoutes(routes: Routes | undefined): Routes {
  const places = (routes ?? []).map(routePlace);
  const twice = places.find((place, i) => places.indexOf(place) < i);
  if (twice !== undefined) throw new InvalidInput('ROUTES', `Two routes lead to ${twice}; choose another metric`);
  return routes ?? [];
}

/** Throws for a text that is no address. */
export function readAddresses(addresses: readonly string[] | undefined): readonly string[] {
  for (const address of addresses ?? []) parseIp(address);
  return addresses ?? [];
}

type Attachment =
  | NonNullable<PodConfig['spec']['networkAttachments']>[number]
  | NonNullable<PodNetworkConfig['spec']['additionalNetworks']>[number];

export function upstreamLink(
  object: KubeObject,
  fieldPath: string,
  prefix: string,
  attachment: Attachment,
): LinkRequest {
  const { master, mtu, hardwareAddr, alias, addresses, routes } = attachment;
  const source = sourceOf(object, fieldPath);
  return {
    ...readRanges(attachment),
    source,
    key: interfaceKey(source.ref, prefix),
    namePrefix: prefix,
    link: linkOf(attachment),
    bridge: master,
    mtuBytes: mtu,
    macAddress: hardwareAddr,
    alias,
    addresses: readAddresses(addresses),
    routes: readRoutes(routes),
  };
}
