/**
 * What nf_tables rules are made of: expressions that load, compare and decide. They are the kernel's, so a rule shows exactly what
 * runs; `match` and `verdict` write the usual ones.
 */
import { parseIp, parsePrefix } from '../codec/address.ts';
import { attr, select, table, type Table } from '../codec/table.ts';
import { be16, be32, be64big, bytes, choice, text, u8, type InOf, type OutOf } from '../codec/type.ts';
import { LITTLE } from '../codec/writer.ts';

/** Codes are signed, in network order. */
const verdictCode = choice(be32, {
  drop: 0,
  accept: 1,
  continue: 0xffff_ffff,
  break: 0xffff_fffe,
  jump: 0xffff_fffd,
  goto: 0xffff_fffc,
  return: 0xffff_fffb,
});
export const data = table('data', {
  value: attr(1, bytes),
  verdict: attr(2, table('verdict', { code: attr(1, verdictCode), chain: attr(2, text) })),
});

const comparison = choice(be32, { '==': 0, '!=': 1, '<': 2, '<=': 3, '>': 4, '>=': 5 });
export const metaKeys = {
  len: 0,
  protocol: 1,
  priority: 2,
  mark: 3,
  iif: 4,
  oif: 5,
  iifname: 6,
  oifname: 7,
  iiftype: 8,
  oiftype: 9,
  nfproto: 15,
  l4proto: 16,
  ibrname: 17,
  obrname: 18,
  pkttype: 19,
  iifgroup: 21,
  oifgroup: 22,
} as const;

const expressions = {
  immediate: table('immediate', { register: attr(1, be32), data: attr(2, data) }),
  cmp: table('cmp', { register: attr(1, be32), op: attr(2, comparison), data: attr(3, data) }),
  range: table('range', {
    register: attr(1, be32),
    op: attr(2, comparison),
    from: attr(3, data),
    to: attr(4, data),
  }),
  bitwise: table('bitwise', {
    source: attr(1, be32),
    register: attr(2, be32),
    length: attr(3, be32),
    mask: attr(4, data),
    xor: attr(5, data),
    op: attr(6, choice(be32, { mask: 0, leftShift: 1, rightShift: 2 })),
    data: attr(7, data),
  }),
  lookup: table('lookup', {
    set: attr(1, text),
    register: attr(2, be32),
    target: attr(3, be32),
    setId: attr(4, be32),
    /** 1 matches what is not in the set. */
    flags: attr(5, be32),
  }),
  payload: table('payload', {
    register: attr(1, be32),
    base: attr(2, choice(be32, { link: 0, network: 1, transport: 2, inner: 3 })),
    offset: attr(3, be32),
    length: attr(4, be32),
    source: attr(5, be32),
    checksumType: attr(6, be32),
    checksumOffset: attr(7, be32),
    checksumFlags: attr(8, be32),
  }),
  meta: table('meta', { register: attr(1, be32), key: attr(2, choice(be32, metaKeys)), source: attr(3, be32) }),
  ct: table('ct', {
    register: attr(1, be32),
    key: attr(2, choice(be32, { state: 0, direction: 1, status: 2, mark: 3 })),
    direction: attr(3, u8),
    source: attr(4, be32),
  }),
  limit: table('limit', {
    rate: attr(1, be64big),
    perSeconds: attr(2, be64big),
    burst: attr(3, be32),
    type: attr(4, choice(be32, { packets: 0, bytes: 1 })),
    /** 1 matches what is over the limit. */
    flags: attr(5, be32),
  }),
  counter: table('counter', { bytes: attr(1, be64big), packets: attr(2, be64big) }),
  log: table('log', { group: attr(1, be16), prefix: attr(2, text), snapLength: attr(3, be32), level: attr(5, be32) }),
  reject: table('reject', {
    type: attr(1, choice(be32, { icmp: 0, tcpReset: 1, icmpAnyFamily: 2 })),
    icmpCode: attr(2, u8),
  }),
  masq: table('masq', { flags: attr(1, be32) }),
} satisfies Record<string, Table>;

type Tables = typeof expressions;
/** An expression, typed by its name. */
export type NftExpression = {
  [K in keyof Tables]: { readonly name: K; readonly data?: InOf<Tables[K]> | undefined };
}[keyof Tables];
/** As the kernel shows it; one without a table here has its data as bytes. */
export type SeenNftExpression =
  | { [K in keyof Tables]: { name: K; data: OutOf<Tables[K]> } }[keyof Tables]
  | { name?: undefined; otherName: string; data?: Uint8Array };

export const expression = table('expression', {
  name: attr(1, text),
  data: attr(2, select<object>('name', expressions)),
});

export function toExpression({ name = '', data }: OutOf<typeof expression>): SeenNftExpression {
  if (Object.hasOwn(expressions, name) && !(data instanceof Uint8Array)) {
    return { name, data: data ?? {} } as SeenNftExpression;
  }
  return { otherName: name, ...(data instanceof Uint8Array ? { data } : {}) };
}

type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=';
/** Register 1 takes sixteen bytes; nothing here needs a second one. */
const REGISTER = 1;
const VERDICT = 0;
const NFPROTO = { ip: 2, ip6: 10 } as const;
const L4PROTO = { icmp: 1, tcp: 6, udp: 17, icmp6: 58 } as const;
const PACKET_TYPES = { host: 0, broadcast: 1, multicast: 2, otherhost: 3 } as const;

const load = {
  meta: (key: keyof typeof metaKeys): NftExpression => ({ name: 'meta', data: { register: REGISTER, key } }),
  payload: (base: 'link' | 'network' | 'transport', offset: number, length: number): NftExpression => ({
    name: 'payload',
    data: { register: REGISTER, base, offset, length },
  }),
};
const compare = (op: Comparison, value: Uint8Array): NftExpression => ({
  name: 'cmp',
  data: { register: REGISTER, op, data: { value } },
});
const within = (set: string, op: '==' | '!='): NftExpression => ({
  name: 'lookup',
  data: { set, register: REGISTER, flags: op === '!=' ? 1 : undefined },
});
const nfproto = (family: 'ip' | 'ip6'): NftExpression[] => [
  load.meta('nfproto'),
  compare('==', Uint8Array.of(NFPROTO[family])),
];
const hostNumber = (value: number): Uint8Array => {
  const out = new Uint8Array(4);
  new DataView(out.buffer).setUint32(0, value, LITTLE);
  return out;
};
const nameBytes = (name: string): Uint8Array => {
  const out = Buffer.alloc(16);
  if (out.write(name) === 16) throw new RangeError(`"${name}" is longer than a link's name can be`);
  return out;
};

/** Where an address is in the header of its family. */
const addresses = {
  ip: { source: 12, destination: 16, length: 4 },
  ip6: { source: 8, destination: 24, length: 16 },
} as const;

function addressMatch(
  family: 'ip' | 'ip6',
  side: 'source' | 'destination',
  op: '==' | '!=',
  of: string,
): NftExpression[] {
  const { length, [side]: offset } = addresses[family];
  const loaded = [...nfproto(family), load.payload('network', offset, length)];
  if (of.startsWith('@')) return [...loaded, within(of.slice(1), op)];
  const prefix = parsePrefix(of);
  const value = parseIp(prefix.address);
  if (value.length !== length) throw new RangeError(`"${of}" is not of the family ${family}`);
  if (prefix.length > 0 && prefix.length % 8 === 0) {
    const whole = prefix.length / 8;
    return [...nfproto(family), load.payload('network', offset, whole), compare(op, value.subarray(0, whole))];
  }
  const mask = Uint8Array.from({ length }, (_, i) => 0xff & ~(0xff >> Math.min(8, Math.max(0, prefix.length - i * 8))));
  const masked: NftExpression = {
    name: 'bitwise',
    data: {
      source: REGISTER,
      register: REGISTER,
      length,
      mask: { value: mask },
      xor: { value: new Uint8Array(length) },
    },
  };
  return [
    ...loaded,
    masked,
    compare(
      op,
      value.map((byte, i) => byte & mask[i]!),
    ),
  ];
}

/** The usual conditions, for families that see IP packets unless said. `@name` stands for a set of the same table. */
export const match = {
  iif: (name: string, op: '==' | '!=' = '=='): NftExpression[] => [load.meta('iifname'), compare(op, nameBytes(name))],
  oif: (name: string, op: '==' | '!=' = '=='): NftExpression[] => [load.meta('oifname'), compare(op, nameBytes(name))],
  mark: (mark: number, op: Comparison = '=='): NftExpression[] => [load.meta('mark'), compare(op, hostNumber(mark))],
  protocol: (protocol: keyof typeof L4PROTO | number): NftExpression[] => [
    load.meta('l4proto'),
    compare('==', Uint8Array.of(typeof protocol === 'number' ? protocol : L4PROTO[protocol])),
  ],
  source: (family: 'ip' | 'ip6', op: '==' | '!=', address: string) => addressMatch(family, 'source', op, address),
  destination: (family: 'ip' | 'ip6', op: '==' | '!=', address: string) =>
    addressMatch(family, 'destination', op, address),
  sourcePort: (protocol: 'tcp' | 'udp', port: number): NftExpression[] => portMatch(protocol, 0, port),
  destinationPort: (protocol: 'tcp' | 'udp', port: number): NftExpression[] => portMatch(protocol, 2, port),
  /** Where the frame was sent to; also for the families netdev and bridge. */
  packetType: (type: keyof typeof PACKET_TYPES): NftExpression[] => [
    load.meta('pkttype'),
    compare('==', Uint8Array.of(PACKET_TYPES[type])),
  ],
  /** Source MAC, for families that see frames. */
  sourceMac: (set: `@${string}`, op: '==' | '!='): NftExpression[] => [
    load.payload('link', 6, 6),
    within(set.slice(1), op),
  ],
  /** State of the connection, as bits: 1 invalid, 2 established, 4 related, 8 new, 64 untracked. */
  connectionState: (bits: number): NftExpression[] => [
    { name: 'ct', data: { register: REGISTER, key: 'state' } },
    {
      name: 'bitwise',
      data: {
        source: REGISTER,
        register: REGISTER,
        length: 4,
        mask: { value: hostNumber(bits) },
        xor: { value: hostNumber(0) },
      },
    },
    compare('!=', hostNumber(0)),
  ],
  limit: (limit: {
    readonly rate: number;
    readonly perSeconds?: number;
    readonly burst?: number;
    readonly unit?: 'packets' | 'bytes';
    /** Matches what is over the limit, to drop it. */
    readonly over?: boolean;
  }): NftExpression[] => [
    {
      name: 'limit',
      data: {
        rate: BigInt(limit.rate),
        perSeconds: BigInt(limit.perSeconds ?? 1),
        burst: limit.burst ?? 0,
        type: limit.unit ?? 'packets',
        flags: limit.over === true ? 1 : 0,
      },
    },
  ],
};

function portMatch(protocol: 'tcp' | 'udp', offset: number, port: number): NftExpression[] {
  if (!Number.isInteger(port) || port < 0 || port > 0xffff) throw new RangeError(`${port} is not a port`);
  const value = Uint8Array.of(port >> 8, port & 0xff);
  return [...match.protocol(protocol), load.payload('transport', offset, 2), compare('==', value)];
}

const decide = (code: 'drop' | 'accept' | 'return' | 'jump' | 'goto', chain?: string): NftExpression => ({
  name: 'immediate',
  data: { register: VERDICT, data: { verdict: chain === undefined ? { code } : { code, chain } } },
});
/** What ends a rule. */
export const verdict = {
  drop: decide('drop'),
  accept: decide('accept'),
  return: decide('return'),
  jump: (chain: string): NftExpression => decide('jump', chain),
  goto: (chain: string): NftExpression => decide('goto', chain),
};
export const counter: NftExpression = { name: 'counter' };
