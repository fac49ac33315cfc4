/**
 * What one attachment of a pod to a network may ask for. Three kinds carry it under slightly different names (upstream writes
 * `mtu` and `hardwareAddr`, our own kinds have units in their names), so the shared part is a shape with its rules.
 */
import * as z from 'zod';
import { alias, cidr, deviceName, ip, linkType, macAddress, networkCidr, networkMtu, routes } from './fields.ts';
import { cidrContains, isCidr, isIp, parseCidr, parseIp } from './ip.ts';
import { ruled, type Rule } from './rule.ts';

/** The ranges of a network: shared by attachments and bridges. */
export const rangeShape = {
  cidr: networkCidr(
    'Address range of the network, IPv4 or IPv6, of any prefix length: 192.168.100.0/24. Every pod gets an address of its own from it. Left out, the link has no address.',
  ).optional(),
  cidrs: z
    .array(networkCidr('An IPv4 or an IPv6 range.'))
    .min(1)
    .max(2)
    .describe('Instead of cidr, for two families at once: one IPv4 and one IPv6 range.')
    .optional(),
  gateway: ruled(z.string().max(39), {
    cel: `self == 'First' || self == 'None' || isIP(self)`,
    holds: (value) => value === 'First' || value === 'None' || isIp(value),
    message: 'must be First, None, or an address of the range',
  })
    .describe(
      'Address of the bridge on every node. First (also when left out) is the first address of each range; None gives the bridge no address; or an address of the range.',
    )
    .optional(),
  exclude: z
    .array(cidr('A range, or one address as /32 or /128.'))
    .max(32)
    .describe('Parts of the range that are not handed out. Static addresses may lie in them.')
    .optional(),
};

export const addressShape = {
  ...rangeShape,
  addresses: z
    .array(ip('An address of the range, without prefix length.'))
    .min(1)
    .max(4)
    .describe(
      'Static addresses instead of the next free ones. For objects that select one pod; a second pod would show a conflict.',
    )
    .optional(),
  routes: routes('Routes in the pod that go over this link.').optional(),
};

export const linkShape = {
  linkType: linkType(
    'Kind of link, as `ip link add type` names it. veth, the default, is a pair of links: one end in the pod, the other on a bridge of the node.',
  ).default('veth'),
  parent: deviceName(
    'Device on the node that the link is a part of, for vlan, macvlan, macvtap, ipvlan and ipvtap. Ignored for veth, which has no parent.',
  ).optional(),
  vlanID: z.int().min(1).max(4094).describe('VLAN id, for linkType vlan.').optional(),
};

/** As upstream spells them. */
export const upstreamLinkShape = {
  ...linkShape,
  master: deviceName(
    'Bridge on the node that the link is put on. Made when it is not there, removed when nobody uses it any more.',
  ).optional(),
  mtu: networkMtu('MTU of the link in bytes. Left out, the kernel decides.').optional(),
  hardwareAddr: macAddress(
    'MAC address of the link in the pod, unicast. Left out, it is derived from network and address. For objects that select one pod.',
  ).optional(),
  alias: alias('Description that `ip link` shows for the link.').optional(),
};

interface Ranged {
  readonly cidr?: string | undefined;
  readonly cidrs?: readonly string[] | undefined;
  readonly gateway?: string | undefined;
  readonly exclude?: readonly string[] | undefined;
  readonly addresses?: readonly string[] | undefined;
  readonly routes?: readonly { readonly via?: string | undefined }[] | undefined;
}

const rangesOf = ({ cidr, cidrs }: Ranged): readonly string[] => cidrs ?? (cidr === undefined ? [] : [cidr]);
const inRange = (value: Ranged, address: string): boolean =>
  rangesOf(value).some((range) => cidrContains(range, address));
const sameIp = (a: string, b: string): boolean => {
  const [x, y] = [parseIp(a), parseIp(b)];
  return x.family === y.family && x.value === y.value;
};
const isFirstOf = (range: string, address: string): boolean => {
  if (!isCidr(range) || !isIp(address)) return false;
  const { family, first, prefixLength } = parseCidr(range);
  const value = parseIp(address);
  return value.family === family && prefixLength <= (family === 4 ? 30 : 126) && value.value === first + 1n;
};

/** CEL for "the ranges of self, as a list". */
const celRanges = '(has(self.cidrs) ? self.cidrs : has(self.cidr) ? [self.cidr] : [])';
/**
 * CEL for "a is the network address of c, plus one". The pair that a shares a /31 (or /127) with starts at the network address, and
 * a is not that address. Written with == alone: the API server cannot estimate what != between addresses costs.
 */
const celFirstIsA = [
  'isCIDR(c) && isIP(a) && cidr(c).ip().family() == ip(a).family() && !(ip(a) == cidr(c).masked().ip())',
  '&& (ip(a).family() == 4',
  `? cidr(c).prefixLength() <= 30 && cidr(a + '/31').masked().ip() == cidr(c).masked().ip()`,
  `: cidr(c).prefixLength() <= 126 && cidr(a + '/127').masked().ip() == cidr(c).masked().ip())`,
].join(' ');

/** CEL for "a is the network address of c, which has room for one": not so of a pair, nor of a single address. */
const celNetworkIsA =
  'isCIDR(c) && isIP(a) && cidr(c).prefixLength() <= (cidr(c).ip().family() == 4 ? 30 : 126) && ip(a) == cidr(c).masked().ip()';
const isNetworkOf = (range: string, address: string): boolean => {
  if (!isCidr(range) || !isIp(address)) return false;
  const { family, first, prefixLength } = parseCidr(range);
  const ip = parseIp(address);
  return ip.family === family && prefixLength <= (family === 4 ? 30 : 126) && ip.value === first;
};

/** CEL for "a is the last address of c, which is IPv4 with room for a broadcast address". One more than it ends in as many zeros as c has host bits. */
const celLastIsA = [
  `isCIDR(c) && isIP(a) && ip(a).family() == 4 && cidr(c).containsIP(a) && cidr(c).prefixLength() <= 30 && (`,
  ['0', '1', '2', '3'].map((i) => `int(a.split('.')[${i}]) * ${256 ** (3 - Number(i))}`).join(' + '),
  `+ 1) % [${Array.from({ length: 31 }, (_, prefix) => 2 ** (32 - prefix)).join(', ')}][cidr(c).prefixLength()] == 0`,
].join(' ');
const isLastOf = (range: string, address: string): boolean => {
  if (!isCidr(range) || !isIp(address)) return false;
  const { family, last, prefixLength } = parseCidr(range);
  const ip = parseIp(address);
  return family === 4 && ip.family === 4 && prefixLength <= 30 && ip.value === last;
};

export function rangeRules<T extends Ranged>(): readonly Rule<T>[] {
  return [
    {
      cel: '!(has(self.cidr) && has(self.cidrs))',
      holds: ({ cidr, cidrs }) => cidr === undefined || cidrs === undefined,
      message: 'cidr and cidrs cannot both be set: write both ranges in cidrs',
      fieldPath: '.cidrs',
    },
    {
      cel: '!has(self.cidrs) || size(self.cidrs) < 2 || !self.cidrs.all(c, isCIDR(c)) || cidr(self.cidrs[0]).ip().family() != cidr(self.cidrs[1]).ip().family()',
      holds: ({ cidrs }) =>
        cidrs?.length !== 2 ||
        !cidrs.every(isCidr) ||
        new Set(cidrs.map((range) => parseCidr(range).family)).size === 2,
      message: 'must be one IPv4 and one IPv6 range',
      fieldPath: '.cidrs',
    },
    {
      cel: `!has(self.gateway) || !isIP(self.gateway) || ${celRanges}.exists(c, isCIDR(c) && cidr(c).containsIP(self.gateway))`,
      holds: (value) => value.gateway === undefined || !isIp(value.gateway) || inRange(value, value.gateway),
      message: 'the gateway must lie in the range of the network',
      fieldPath: '.gateway',
    },
    {
      // Of IPv6 the network address is every router's own (RFC 4291 section 2.6.1).
      cel: `!has(self.gateway) || [self.gateway].all(a, !${celRanges}.exists(c, (isIP(a) && ip(a).family() == 4 && ${celNetworkIsA}) || (${celLastIsA})))`,
      holds: (value) =>
        value.gateway?.includes(':') === true ||
        !rangesOf(value).some(
          (range) => isNetworkOf(range, value.gateway ?? '') || isLastOf(range, value.gateway ?? ''),
        ),
      message: 'the gateway cannot be the network or broadcast address of the range',
      fieldPath: '.gateway',
    },
    {
      cel: `!has(self.exclude) || self.exclude.all(e, !isCIDR(e) || ${celRanges}.exists(c, isCIDR(c) && cidr(c).containsCIDR(e)))`,
      holds: (value) =>
        (value.exclude ?? []).every(
          (part) =>
            !isCidr(part) ||
            rangesOf(value).some(
              (range) => cidrContains(range, part) && parseCidr(part).prefixLength >= parseCidr(range).prefixLength,
            ),
        ),
      message: 'what is excluded must lie in the range of the network',
      fieldPath: '.exclude',
    },
  ];
}

export function addressRules<T extends Ranged>(): readonly Rule<T>[] {
  return [
    ...rangeRules<T>(),
    {
      cel: `!has(self.addresses) || self.addresses.all(a, !isIP(a) || ${celRanges}.exists(c, isCIDR(c) && cidr(c).containsIP(a)))`,
      holds: (value) => (value.addresses ?? []).every((address) => !isIp(address) || inRange(value, address)),
      message: 'a static address must lie in the range of the network',
      fieldPath: '.addresses',
    },
    {
      cel: '!has(self.addresses) || !has(self.gateway) || !isIP(self.gateway) || self.addresses.all(a, !isIP(a) || !(ip(a) == ip(self.gateway)))',
      holds: ({ addresses, gateway }) =>
        addresses === undefined ||
        gateway === undefined ||
        !isIp(gateway) ||
        addresses.every((address) => !isIp(address) || !sameIp(address, gateway)),
      message: 'a static address cannot be the gateway of the network',
      fieldPath: '.addresses',
    },
    {
      cel: `!has(self.addresses) || (has(self.gateway) && self.gateway != 'First') || self.addresses.all(a, !${celRanges}.exists(c, ${celFirstIsA}))`,
      holds: (value) =>
        (value.gateway !== undefined && value.gateway !== 'First') ||
        (value.addresses ?? []).every((address) => !rangesOf(value).some((range) => isFirstOf(range, address))),
      message: 'the first address of the range is the gateway: choose another, or set gateway',
      fieldPath: '.addresses',
    },
    {
      cel: `!has(self.addresses) || self.addresses.all(a, !${celRanges}.exists(c, ${celNetworkIsA}))`,
      holds: (value) =>
        (value.addresses ?? []).every((address) => !rangesOf(value).some((range) => isNetworkOf(range, address))),
      message: 'a static address cannot be the network address of the range',
      fieldPath: '.addresses',
    },
    {
      cel: `!has(self.addresses) || self.addresses.all(a, !${celRanges}.exists(c, ${celLastIsA}))`,
      holds: (value) =>
        (value.addresses ?? []).every((address) => !rangesOf(value).some((range) => isLastOf(range, address))),
      message: 'a static address cannot be the broadcast address of the range',
      fieldPath: '.addresses',
    },
    {
      // Without ranges of its own, an attachment may have those of a Bridge. IPv6 routers are mostly named by their link-local address.
      cel: `!has(self.routes) || !(has(self.cidr) || has(self.cidrs)) || self.routes.all(r, !has(r.via) || !isIP(r.via) || cidr('fe80::/10').containsIP(r.via) || ${celRanges}.exists(c, isCIDR(c) && cidr(c).containsIP(r.via)))`,
      holds: (value) =>
        rangesOf(value).length === 0 ||
        (value.routes ?? []).every(
          ({ via }) => via === undefined || !isIp(via) || cidrContains('fe80::/10', via) || inRange(value, via),
        ),
      message: 'the next hop of a route must lie in the range of the network: the pod cannot reach another',
      fieldPath: '.routes',
    },
  ];
}

const needParent = ['vlan', 'macvlan', 'macvtap', 'ipvlan', 'ipvtap'];

interface Linked {
  readonly linkType: string;
  readonly parent?: string | undefined;
  readonly vlanID?: number | undefined;
}

export function linkRules<T extends Linked>(): readonly Rule<T>[] {
  return [
    {
      cel: `!(self.linkType in [${needParent.map((type) => `'${type}'`).join(', ')}]) || has(self.parent)`,
      holds: ({ linkType, parent }) => !needParent.includes(linkType) || parent !== undefined,
      message: `a link of type ${needParent.join(', ')} needs a parent`,
      reason: 'FieldValueRequired',
      fieldPath: '.parent',
    },
    {
      cel: `(self.linkType == 'vlan') == has(self.vlanID)`,
      holds: ({ linkType, vlanID }) => (linkType === 'vlan') === (vlanID !== undefined),
      message: 'vlanID must be set for linkType vlan, and for no other',
      fieldPath: '.vlanID',
    },
  ];
}
