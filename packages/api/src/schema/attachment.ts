/**
 * What one attachment of a pod to a network may ask for. Three kinds carry it under slightly different names (upstream writes
 * `mtu` and `hardwareAddr`, our own kinds have units in their names), so the shared part is a shape with its rules.
 */
import * as z from 'zod';
import { alias, cidr, deviceName, ip, linkType, macAddress, networkCidr, networkMtu, routes } from './fields.ts';
import { cidrContains, isCidr, isIp, parseCidr } from './ip.ts';
import { ruled, type Rule } from './rule.ts';
import { typeDescriptions, typeRules, typeShape } from '../links/types.ts';

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
  linkType: linkType(`Kind of link, as \`ip link add type\` names it, veth by default. ${typeDescriptions}`).default(
    'veth',
  ),
  ...typeShape,
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
/** CEL for "the ranges of self, as a list". */
const celRanges = '(has(self.cidrs) ? self.cidrs : has(self.cidr) ? [self.cidr] : [])';
/**
 * Cheap rules of one field. What takes arithmetic with addresses is left to the operator, which refuses it with a condition: that a static address is
 * the gateway's, the network's or the broadcast address, and that a gateway is one of the last two.
 */
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

export function linkRules<T extends Linked & Readonly<Record<string, unknown>>>(): readonly Rule<T>[] {
  return [
    ...typeRules,
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
