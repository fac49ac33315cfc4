/**
 * The fields that several kinds share: addresses, link names, MTUs, conditions. Every list and text is bounded, because the
 * API server estimates the cost of each rule from those bounds and refuses a CRD that could cost too much.
 */
import { z } from 'zod';
import { isCidr, isIp, parseCidr } from './ip.ts';
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

export const text = (maxLength: number, description: string) => z.string().max(maxLength).describe(description);

/** As dev_valid_name() in the kernel: at most 15 bytes, not characters; CEL's size() of a string would count characters. */
export const linkName = (description: string) =>
  ruled(z.string().min(1).max(15), {
    cel: `bytes(self).size() <= 15 && !self.matches('[/:[:space:]]') && self != '.' && self != '..'`,
    holds: (name) =>
      new TextEncoder().encode(name).length <= 15 && !/[/:\s]/.test(name) && name !== '.' && name !== '..',
    message: 'must be a link name: 1 to 15 bytes, without "/", ":" or spaces, and not "." or ".."',
  }).describe(description);

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

/** Only names that one interface owns: a tenant must not reach the sysctls of the node or of other links. */
export const sysctls = (description: string) =>
  ruled(
    z
      .record(z.string(), text(64, 'Value, as it would be written to the file below /proc/sys.'))
      .meta({ maxProperties: 32 }),
    {
      cel: `self.all(name, name.matches('^net[.]ipv[46][.](conf|neigh)[.][a-z0-9_]{1,64}$'))`,
      holds: (value) => Object.keys(value).every((name) => /^net\.ipv[46]\.(conf|neigh)\.[a-z0-9_]{1,64}$/.test(name)),
      message:
        'must be settings of the interface itself, the interface left out of the name: net.ipv4.conf.rp_filter, net.ipv6.neigh.base_reachable_time_ms',
    },
  ).describe(description);

export const conditions = z
  .array(
    z
      .object({
        type: z
          .string()
          .max(316)
          .regex(/^[A-Za-z][-A-Za-z0-9_./]*$/)
          .describe('Aspect of the object, such as Ready.'),
        status: z.enum(['True', 'False', 'Unknown']).describe('Whether the condition holds.'),
        observedGeneration: z.int().min(0).describe('metadata.generation that this was found for.').optional(),
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
  )
  .max(32)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
  .describe('What is known about the object, as Kubernetes has conditions.');

export const observedGeneration = z.int().min(0).describe('metadata.generation that this status was made for.');
