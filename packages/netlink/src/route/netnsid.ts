/** The numbers by which one namespace knows others (`ip netns set`, `list-id`). */
import { message } from '../codec/message.ts';
import { pad, struct } from '../codec/struct.ts';
import { attr, table } from '../codec/table.ts';
import { i32, u32, u8 } from '../codec/type.ts';
import { request } from '../wire/request.ts';
import type { Channel } from './channel.ts';
import { RTM_GETNSID, RTM_NEWNSID } from './numbers.ts';

export const netnsidMessage = message(
  'netnsid',
  struct({ family: u8, pad1: pad(3) }),
  table('netnsid', {
    netnsid: attr(1, i32),
    pid: attr(2, u32),
    fd: attr(3, u32),
    targetNetnsid: attr(4, i32),
    currentNetnsid: attr(5, i32),
  }),
);

export function netnsidFamily(channel: Channel) {
  return {
    /** The number that this namespace has for another one, or undefined if it has none. */
    get(of: { readonly fd: number } | { readonly pid: number }): number | undefined {
      const which = 'fd' in of ? { fd: of.fd } : { pid: of.pid };
      const answer = channel.get(request('netnsid.get', RTM_GETNSID, 0, netnsidMessage, which), netnsidMessage);
      return answer.netnsid === undefined || answer.netnsid < 0 ? undefined : answer.netnsid;
    },
    /** Gives another namespace a number here; -1 lets the kernel choose. */
    set(of: { readonly fd: number }, netnsid: number): void {
      channel.run(request('netnsid.set', RTM_NEWNSID, 0, netnsidMessage, { fd: of.fd, netnsid }));
    },
  };
}
