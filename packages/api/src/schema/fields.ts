/**
 * The fields that several kinds share: addresses, link names, MTUs, conditions. Every list and text is bounded, because the
 * API server estimates the cost of each rule from those bounds and refuses a CRD that could cost too much.
 */
import * as z from 'zod';
import type { PrinterColumn } from '../kind.ts';
import { cidrContains, isCidr, isIp, parseCidr } from './ip.ts';
import { isLinkName, notInLinkNames } from './link-name.ts';
import { ruled } from './rule.ts';

/** What the kernel can make; a node that lacks one says so in a condition. Names as `ip link add type` takes them. */
export const linkTypes = [
  'veth',
  'bridge',
  'vlan',
  'macvlan',
  'macvtap',
  'ipvlan',
  'ipvtap',
  'vxlan',
  'geneve',
  'gre',
  'gretap',
  'ip6gre',
  'ip6gretap',
  'erspan',
  'ipip',
  'sit',
  'ip6tnl',
  'wireguard',
  'vrf',
  'dummy',
  'ifb',
  'bond',
  'xfrm',
  'netkit',
  'tun',
  'tap',
  'nlmon',
] as const;
export type LinkType = (typeof linkTypes)[number];

export const linkType = (description: string) => z.enum(linkTypes).describe(description);

/** A list whose items are told apart by some of their fields. The API server refuses a second item with the same ones. */
export function listMap<S extends z.ZodObject>(
  item: S,
  keys: readonly (keyof z.output<S> & string)[],
  maxItems: number,
) {
  return z
    .array(item)
    .max(maxItems)
    .refine((items) => new Set(items.map((one) => JSON.stringify(keys.map((key) => one[key])))).size === items.length, {
      message: `Duplicate value: two items have the same ${keys.join(' and ')}`,
    })
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [...keys] });
}

export const text = (maxLength: number, description: string) => z.string().max(maxLength).describe(description);

/** Half of what the kernel keeps for an alias. */
export const alias = (description: string) =>
  ruled(
    z
      .string()
      .max(128)
      .regex(/^\P{Cc}*$/u),
    {
      cel: 'bytes(self).size() <= 128',
      holds: (value) => new TextEncoder().encode(value).length <= 128,
      message: 'must be at most 128 bytes',
    },
  ).describe(description);

export const linkName = (description: string) =>
  ruled(z.string().min(1).max(15), {
    cel: `!self.matches(r'${notInLinkNames}') && self != '.' && self != '..'`,
    holds: isLinkName,
    message:
      'must be a link name: 1 to 15 bytes of printable ASCII, without "/", ":", "%" or spaces, and not "." or ".."',
  }).describe(description);

/** Names that no device can be given: every namespace has lo, and all and default are folders beside the devices' own in /proc/sys/net. */
const takenNames = ['lo', 'all', 'default'];

/** A link name that a device is called by as it is, as opposed to a prefix. */
export const deviceName = (description: string) =>
  ruled(linkName(description), {
    cel: `!(self in [${takenNames.map((name) => `'${name}'`).join(', ')}])`,
    holds: (value) => !takenNames.includes(value),
    message: 'must not be lo, all or default: no device can have these names',
  });

export const cidr = (description: string) =>
  ruled(
    z.string().max(43),
    {
      cel: 'isCIDR(self)',
      holds: isCidr,
      message: 'must be an address range such as 192.168.100.0/24 or fd00:1::/64',
    },
    {
      cel: '!isCIDR(self) || cidr(self).masked() == cidr(self)',
      holds: (value) => !isCidr(value) || parseCidr(value).address === parseCidr(value).first,
      message: 'must be a range, not an address in it: the bits after the prefix must be zero',
    },
  ).describe(description);

/** No pod can use an address of these as its own. */
const unusable = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/3',
  '::/128',
  '::1/128',
  'fe80::/10',
  'ff00::/8',
];

/** A range that pods get addresses from, as opposed to one that a route leads to. */
export const networkCidr = (description: string) =>
  ruled(cidr(description), {
    cel: `!isCIDR(self) || (cidr(self).prefixLength() > 0 && [${unusable.map((range) => `'${range}'`).join(', ')}].all(u, !cidr(u).containsCIDR(self) && !cidr(self).containsCIDR(u)))`,
    holds: (value) =>
      !isCidr(value) ||
      (parseCidr(value).prefixLength > 0 &&
        unusable.every((range) => !cidrContains(range, value) && !cidrContains(value, range))),
    message:
      'must be a range that pods can have addresses of: not everything, and nothing of loopback, link-local, multicast or reserved',
  });

/** An address with its prefix length: 192.168.100.2/24. */
export const interfaceAddress = (description: string) =>
  ruled(z.string().max(43), {
    cel: 'isCIDR(self)',
    holds: isCidr,
    message: 'must be an address with its prefix length, such as 192.168.100.2/24 or fd00:1::2/64',
  }).describe(description);

export const ip = (description: string) =>
  ruled(z.string().max(39), {
    cel: 'isIP(self)',
    holds: isIp,
    message: 'must be an IPv4 or IPv6 address such as 192.168.100.2 or fd00:1::2',
  }).describe(description);

/** 68 is the least that IPv4 allows (RFC 791); 65535 the most that the kernel's links take. */
export const mtu = (description: string) => z.int().min(68).max(65535).describe(description);

/**
 * Of bridges and what is put on them. The kernel takes IPv6 off a link below 1280 bytes (RFC 8200 section 5), and a bridge takes the smallest MTU of
 * its ports: one pod with less would take the IPv6 gateway from all others.
 */
export const networkMtu = (description: string) => z.int().min(1280).max(65535).describe(description);

export const macAddress = (description: string) =>
  ruled(z.string().max(17), {
    cel: `self.matches('^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$') && self.matches('^[0-9a-fA-F][02468aceACE]') && self != '00:00:00:00:00:00'`,
    holds: (value) =>
      /^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$/.test(value) &&
      /^[0-9a-fA-F][02468aceACE]/.test(value) &&
      value !== '00:00:00:00:00:00',
    message: 'must be a unicast MAC address such as 02:00:00:00:00:01',
  }).describe(description);

export const time = (description: string) => z.iso.datetime({ offset: true }).describe(description);

export const objectName = (description: string) =>
  z
    .string()
    .min(1)
    .max(253)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
    .describe(description);

export const route = (description: string) =>
  ruled(
    z.object({
      to: cidr('Destination range. 0.0.0.0/0 or ::/0 is a default route.'),
      via: ip('Next hop. Left out, the destination is reached directly on the link.').optional(),
      metric: z.int().min(0).max(4294967295).describe('Priority; the smaller wins.').optional(),
    }),
    {
      cel: '!has(self.via) || !isIP(self.via) || !isCIDR(self.to) || ip(self.via).family() == cidr(self.to).ip().family()',
      holds: ({ to, via }) => via === undefined || !isIp(via) || !isCidr(to) || via.includes(':') === to.includes(':'),
      message: 'the next hop must be of the same address family as the destination',
      fieldPath: '.via',
    },
  ).describe(description);

interface Routed {
  readonly to: string;
  readonly metric?: number | undefined;
}

/** What the kernel has one route for: destination and metric. For IPv6 a metric of 0 is none, and none is 1024. */
function routePlace({ to, metric }: Routed): string {
  if (!isCidr(to)) return to;
  const { family, first, prefixLength } = parseCidr(to);
  return `${family} ${first}/${prefixLength} ${metric || (family === 4 ? 0 : 1024)}`;
}
const celMetric = (route: string): string =>
  `(has(${route}.metric) && ${route}.metric > 0 ? ${route}.metric : ${route}.to.contains(':') ? 1024 : 0)`;

/** Routes that one object asks for over one link. */
export const routes = (description: string) =>
  ruled(z.array(route('One route in the pod.')).max(32), {
    cel: `!self.all(r, isCIDR(r.to)) || self.all(a, self.exists_one(b, cidr(a.to) == cidr(b.to) && ${celMetric('a')} == ${celMetric('b')}))`,
    holds: (all) => !all.every(({ to }) => isCidr(to)) || new Set(all.map(routePlace)).size === all.length,
    message: 'two routes to one destination need different metrics',
  }).describe(description);

export const conditions = listMap(
  z
    .object({
      type: z
        .string()
        .max(316)
        .regex(/^[A-Za-z][-A-Za-z0-9_./]*$/)
        .describe('Aspect of the object, such as Ready.'),
      status: z.enum(['True', 'False', 'Unknown']).describe('Whether the condition holds.'),
      observedGeneration: z.int().min(0).describe('The metadata.generation that this was found for.').optional(),
      lastTransitionTime: time('When the status last changed.'),
      reason: z
        .string()
        .min(1)
        .max(1024)
        .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
        .describe('One word for programs: why the condition is as it is.'),
      message: text(32768, 'A sentence for people: what is the case and what to do about it.'),
    })
    .describe('One aspect of the state of the object.'),
  ['type'],
  32,
).describe('What is known about the object, as Kubernetes has conditions.');

export const observedGeneration = z.int().min(0).describe('The metadata.generation that this status was made for.');

export const phase = z
  .enum(['unset', 'configuring', 'configured'])
  .describe(
    'How far it is. unset: no pod is selected. configuring: some pod is not as declared. configured: all selected pods are as declared; of a Bridge all that have a link on it, also if none has.',
  );

/** Entries of a list in a status that grows with the cluster: an object of so many is about as large as the API server takes one. */
export const mostListed = 5000;

export const configList = z
  .array(
    text(
      1024,
      'One link, as {podVethName:pc02841804 podIPAddr:192.168.100.2/24 peerVethName:hpc02841804 bridge:pcbr0}.',
    ),
  )
  .max(256)
  .describe('What was configured, one line a link.');

const labelKey = String.raw`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`;
const labelValue = (description: string) =>
  text(63, description).regex(/^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/);

export const labelSelector = (description: string) =>
  z
    .object({
      matchLabels: ruled(z.record(z.string(), labelValue('Value of the label.')).meta({ maxProperties: 64 }), {
        cel: `self.all(key, key.matches('${labelKey}'))`,
        holds: (labels) => Object.keys(labels).every((key) => new RegExp(labelKey).test(key)),
        message: 'must be names of labels, such as app or example.com/app',
      })
        .describe('Labels that must all be there with these values.')
        .optional(),
      matchExpressions: z
        .array(
          ruled(
            z.object({
              key: text(317, 'Name of the label.').regex(new RegExp(labelKey)),
              operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']).describe('How the label is compared.'),
              values: z.array(labelValue('A value.')).max(64).describe('Values for In and NotIn.').optional(),
            }),
            {
              cel: `(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)`,
              holds: ({ operator, values }) =>
                (operator === 'In' || operator === 'NotIn') === (values ?? []).length > 0,
              message: 'In and NotIn need values, Exists and DoesNotExist have none',
              fieldPath: '.values',
            },
          ).describe('One comparison.'),
        )
        .max(32)
        .describe('Comparisons that must all hold.')
        .optional(),
    })
    .describe(description);

export const selectedPods = z.int().min(0).describe('Running pods that are selected.');

export const ageColumn: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since it was made',
};

export const cidrColumn: PrinterColumn = {
  name: 'CIDR',
  type: 'string',
  jsonPath: ".spec['cidr','cidrs']",
  description: 'Range of the network, or both',
};

export const readyColumn: readonly PrinterColumn[] = [
  {
    name: 'Ready',
    type: 'string',
    jsonPath: ".status.conditions[?(@.type=='Ready')].status",
    description: 'Whether all is as declared',
  },
  { name: 'Reason', type: 'string', jsonPath: ".status.conditions[?(@.type=='Ready')].reason", description: 'Why' },
];
