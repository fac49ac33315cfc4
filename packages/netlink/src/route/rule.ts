/** `ip rule`: which routing table a packet is looked up in. */
import { isIp6, parsePrefix } from '../codec/address.ts';
import { message } from '../codec/message.ts';
import { pad, struct } from '../codec/struct.ts';
import { attr, table } from '../codec/table.ts';
import { be32, be64big, bool8, choice, i32, ip, text, u16, u32, u8, type InOf, type OutOf } from '../codec/type.ts';
import { NLM_F_CREATE, NLM_F_EXCL, request } from '../wire/request.ts';
import type { Channel } from './channel.ts';
import { AF_INET, AF_INET6, AF_UNSPEC, RTM_NEWRULE, RTM_DELRULE, RTM_GETRULE } from './numbers.ts';

const RT_TABLE_MAIN = 254;
const INVERT = 2;

const action = choice(u8, { table: 1, goto: 2, nop: 3, blackhole: 6, unreachable: 7, prohibit: 8 });
const header = struct({
  family: u8,
  toLength: u8,
  fromLength: u8,
  tos: u8,
  shortTable: u8,
  pad1: pad(2),
  action,
  flags: u32,
});
const ports = struct({ start: u16, end: u16 });
const attributes = table('rule', {
  to: attr(1, ip),
  from: attr(2, ip),
  iif: attr(3, text),
  goto: attr(4, u32),
  priority: attr(6, u32),
  fwmark: attr(10, u32),
  realms: attr(11, u32),
  tunnelId: attr(12, be64big),
  suppressGroup: attr(13, i32),
  suppressPrefixLength: attr(14, i32),
  table: attr(15, u32),
  fwmask: attr(16, u32),
  oif: attr(17, text),
  l3mdev: attr(19, bool8),
  uidRange: attr(20, struct({ start: u32, end: u32 })),
  /** Who made the rule (RTPROT_*), so that owners tell theirs from others'. */
  protocol: attr(21, u8),
  ipProtocol: attr(22, u8),
  sourcePorts: attr(23, ports),
  destinationPorts: attr(24, ports),
  dscp: attr(25, u8),
  flowLabel: attr(26, be32),
  flowLabelMask: attr(27, be32),
  sourcePortMask: attr(28, u16),
  destinationPortMask: attr(29, u16),
  dscpMask: attr(30, u8),
});
export const ruleMessage = message('rule', header, attributes);

export interface RuleSettings extends Omit<InOf<typeof attributes>, 'unknown'> {
  /** Needed only where neither `from` nor `to` says it; IPv4 without. */
  readonly family?: number | undefined;
  /** A prefix such as `10.0.0.0/8`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly tos?: number | undefined;
  /** What to do with a packet; `table` unless said. */
  readonly action?: InOf<typeof action> | undefined;
  /** Matches what the rest does not match. */
  readonly not?: boolean | undefined;
}

/** A rule as the kernel shows it; `from` and `to` are prefixes, and absent where every address matches. */
export type Rule = Omit<OutOf<typeof attributes>, 'table' | 'priority'> & {
  family: number;
  priority: number;
  table: number;
  action: OutOf<typeof action>;
  tos: number;
  flags: number;
  not: boolean;
};

export function ruleFamily(channel: Channel) {
  return {
    add(settings: RuleSettings): void {
      const what = settings.action ?? (settings.goto === undefined ? 'table' : 'goto');
      const main = what === 'table' && settings.l3mdev !== true ? RT_TABLE_MAIN : undefined;
      const made = { ...settings, action: what, table: settings.table ?? main };
      channel.run(request('rule.add', RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, ruleMessage, body(made)));
    },
    /** Removes the first rule that has all of this; what is not given matches any. */
    delete(settings: RuleSettings): void {
      channel.run(request('rule.delete', RTM_DELRULE, 0, ruleMessage, body(settings)));
    },
    /** In the order in which the kernel tries them; IPv4 and IPv6 unless a family is given (multicast routing has its own). */
    list(options: { readonly family?: number } = {}): Rule[] {
      const { family = AF_UNSPEC } = options;
      const all = channel.dump(request('rule.list', RTM_GETRULE, 0, ruleMessage, { family }), ruleMessage);
      const wanted = family === AF_UNSPEC ? [AF_INET, AF_INET6] : [family];
      return all.filter((rule) => wanted.includes(rule.family)).map(toRule);
    },
  };
}

function body(settings: RuleSettings): InOf<typeof header> & InOf<typeof attributes> {
  const { from, to, not, family, ...rest } = settings;
  const source = from === undefined ? undefined : parsePrefix(from);
  const target = to === undefined ? undefined : parsePrefix(to);
  const known = source?.address ?? target?.address;
  return {
    ...rest,
    family: family ?? (known !== undefined && isIp6(known) ? AF_INET6 : AF_INET),
    from: source?.address,
    fromLength: source?.length,
    to: target?.address,
    toLength: target?.length,
    flags: not === true ? INVERT : 0,
  };
}

export function toRule(seen: OutOf<typeof header> & OutOf<typeof attributes>): Rule {
  const { fromLength, toLength, shortTable, from, to, suppressPrefixLength, ...rest } = seen;
  return {
    ...rest,
    ...(from === undefined ? {} : { from: `${from}/${fromLength}` }),
    ...(to === undefined ? {} : { to: `${to}/${toLength}` }),
    // The kernel says -1 where nothing is suppressed.
    ...(suppressPrefixLength === undefined || suppressPrefixLength < 0 ? {} : { suppressPrefixLength }),
    priority: seen.priority ?? 0,
    table: seen.table ?? shortTable,
    not: (seen.flags & INVERT) !== 0,
  };
}
