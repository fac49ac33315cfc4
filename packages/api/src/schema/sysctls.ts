/**
 * Settings of a link that the kernel keeps below /proc/sys/net, by name without the interface. Three answers to who may have which:
 * - Names outside the interface's own trees are settings of the node or of other links. The schema refuses them; nobody gets them.
 * - The names of `plainSysctls` concern the pod alone. Everybody may have them.
 * - All others need a NetworkGrant (`primarySysctls`). Admission cannot see grants, so these are refused when a pod's network is composed.
 */
import * as z from 'zod';
import { text } from './fields.ts';
import { ruled } from './rule.ts';

export const mostSysctls = 32;

/** What everybody may set on a primary link, and why it is no danger to the pod's neighbours on the same bridge. */
export const plainSysctls: Readonly<Record<string, string>> = {
  'net.ipv4.conf.arp_announce': 'which of its own addresses the pod names when it asks for another',
  'net.ipv4.conf.arp_filter': 'for which of its own addresses the pod answers on this link',
  'net.ipv4.conf.arp_ignore': 'for which of its own addresses the pod answers on this link',
  'net.ipv4.conf.arp_notify': 'whether the pod announces its own addresses when the link comes up',
  'net.ipv4.conf.rp_filter': 'which packets the pod itself accepts; a pod with several networks often needs 2',
  'net.ipv4.neigh.base_reachable_time_ms': 'how long the pod believes where a neighbour is',
  'net.ipv4.neigh.gc_stale_time': 'how long the pod remembers a neighbour that it does not talk to',
  'net.ipv6.conf.ndisc_notify': 'whether the pod announces its own addresses when the link comes up',
  'net.ipv6.neigh.base_reachable_time_ms': 'how long the pod believes where a neighbour is',
  'net.ipv6.neigh.gc_stale_time': 'how long the pod remembers a neighbour that it does not talk to',
};

/** Names of these settings that somebody may only have by a NetworkGrant. */
export const sysctlsToGrant = (settings: Readonly<Record<string, string>> = {}): string[] =>
  Object.keys(settings).filter((name) => !Object.hasOwn(plainSysctls, name));

const namePattern = /^net\.ipv[46]\.(conf|neigh)\.[a-z0-9_]{1,64}$/;
const celPattern = '^net[.]ipv[46][.](conf|neigh)[.][a-z0-9_]{1,64}$';
const mustBeOfTheLink =
  'must be settings of the interface itself, the interface left out of the name: net.ipv4.conf.rp_filter, net.ipv6.neigh.base_reachable_time_ms';

export const sysctlName = (description: string) =>
  ruled(z.string().max(84), {
    cel: `self.matches('${celPattern}')`,
    holds: (name) => namePattern.test(name),
    message: mustBeOfTheLink,
  }).describe(description);

export const sysctls = (
  description: string,
  value = text(64, 'Value, as it would be written to the file below /proc/sys.'),
) =>
  ruled(z.record(z.string(), value).meta({ maxProperties: mostSysctls }), {
    cel: `self.all(name, name.matches('${celPattern}'))`,
    holds: (settings) => Object.keys(settings).every((name) => namePattern.test(name)),
    message: mustBeOfTheLink,
  }).describe(description);

/** What those settings are: numbers, in any base that the kernel reads, and addresses. */
export const sysctlValue = text(
  64,
  'Value, as it would be written to the file below /proc/sys: a number or an address.',
).regex(/^-?[0-9a-fA-FxX:.]+$/);
