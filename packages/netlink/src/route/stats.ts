/** `ip stats`: counters of links, without the rest of the link. */
import { message } from '../codec/message.ts';
import { pad, struct } from '../codec/struct.ts';
import { attr, table } from '../codec/table.ts';
import { bytes, i32, u32, u8, type OutOf } from '../codec/type.ts';
import { request } from '../wire/request.ts';
import type { Channel, LinkRef } from './channel.ts';
import { linkStats } from './link-table.ts';
import { RTM_GETSTATS } from './numbers.ts';

export const statsMessage = message(
  'stats',
  struct({ family: u8, pad1: pad(3), index: i32, filterMask: u32 }),
  table('stats', {
    link: attr(1, linkStats),
    xstats: attr(2, bytes),
    xstatsPort: attr(3, bytes),
    offload: attr(4, bytes),
  }),
);

const LINK_64 = 1;

export type LinkStats = OutOf<typeof linkStats>;

export function statsFamily(channel: Channel, indexOf: (ref: LinkRef) => number) {
  return {
    get(ref: LinkRef): LinkStats {
      const asked = { index: indexOf(ref), filterMask: LINK_64 };
      const answer = channel.get(request('stats.get', RTM_GETSTATS, 0, statsMessage, asked), statsMessage);
      return answer.link ?? emptyStats;
    },
    /** By link index. */
    list(): Map<number, LinkStats> {
      const asked = { filterMask: LINK_64 };
      const all = channel.dump(request('stats.list', RTM_GETSTATS, 0, statsMessage, asked), statsMessage);
      return new Map(all.map((one) => [one.index, one.link ?? emptyStats]));
    },
  };
}

const emptyStats = Object.fromEntries([...linkStats.names].map((name) => [name, 0])) as LinkStats;
