/** `ip netconf`: the settings of the IP families, per link, that the kernel announces when they change. */
import { message } from '../codec/message.ts';
import { pad, struct } from '../codec/struct.ts';
import { attr, table } from '../codec/table.ts';
import { i32, u8, type OutOf } from '../codec/type.ts';
import { request } from '../wire/request.ts';
import type { Channel, LinkRef } from './channel.ts';
import { AF_INET, AF_INET6 } from './numbers.ts';

const RTM_GETNETCONF = 82;
const ALL = -1;
const DEFAULT = -2;

const header = struct({ family: u8, pad1: pad(3) }, 1);
const attributes = table('netconf', {
  index: attr(1, i32),
  forwarding: attr(2, i32),
  rpFilter: attr(3, i32),
  mcForwarding: attr(4, i32),
  proxyNeigh: attr(5, i32),
  ignoreRoutesWithLinkdown: attr(6, i32),
  input: attr(7, i32),
  bcForwarding: attr(8, i32),
  forceForwarding: attr(9, i32),
});
export const netconfMessage = message('netconf', header, attributes);

/** For all links, for links yet to come, or of one. A setting that a family does not have is absent. */
export type Netconf = Omit<OutOf<typeof attributes>, 'index' | 'unknown'> & {
  family: number;
  of: 'all' | 'default' | number;
};

export function netconfFamily(channel: Channel, indexOf: (ref: LinkRef) => number) {
  return {
    /** `of` is a link, or `all`, or `default`. */
    get(options: { readonly family: number; readonly of: LinkRef }): Netconf {
      const { family, of } = options;
      const index = of === 'all' ? ALL : of === 'default' ? DEFAULT : indexOf(of);
      const question = { family, index };
      return toNetconf(
        channel.get(request('netconf.get', RTM_GETNETCONF, 0, netconfMessage, question), netconfMessage),
      );
    },
    /** Of IPv4 and IPv6, or of the family given. */
    list(options: { readonly family?: number } = {}): Netconf[] {
      const families = options.family === undefined ? [AF_INET, AF_INET6] : [options.family];
      return families
        .flatMap((family) =>
          channel.dump(request('netconf.list', RTM_GETNETCONF, 0, netconfMessage, { family }), netconfMessage),
        )
        .map(toNetconf);
    },
  };
}
export function toNetconf(seen: OutOf<typeof header> & OutOf<typeof attributes>): Netconf {
  const { index = 0, unknown: _unknown, ...rest } = seen;
  return { ...rest, of: index === ALL ? 'all' : index === DEFAULT ? 'default' : index };
}
