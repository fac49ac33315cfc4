/** Messages of nf_tables. Unlike rtnetlink, numbers are in network order. */
import { message } from '../codec/message.ts';
import { struct } from '../codec/struct.ts';
import { attr, many, table } from '../codec/table.ts';
import { be16, be32, be64big, bytes, choice, text, u8 } from '../codec/type.ts';
import { data, expression } from './expressions.ts';

/** What a table sees: `inet` is IPv4 and IPv6, `netdev` the frames of single links. */
export const families = { inet: 1, ip: 2, arp: 3, netdev: 5, bridge: 7, ip6: 10 } as const;
export type NftFamily = keyof typeof families;

export const nfHeader = struct({ family: choice(u8, families), version: u8, resource: be16 });

/** Several expressions, or elements: each is an attribute of the number 1. */
const expressionList = table('expressions', { items: many(1, expression) });

export const batchMessage = message('nft batch', nfHeader, table('batch', { generation: attr(1, be32) }));

export const tableMessage = message(
  'nft table',
  nfHeader,
  table('table', {
    name: attr(1, text),
    flags: attr(2, be32),
    chains: attr(3, be32),
    handle: attr(4, be64big),
    userData: attr(6, bytes),
    owner: attr(7, be32),
  }),
);

export const chainMessage = message(
  'nft chain',
  nfHeader,
  table('chain', {
    table: attr(1, text),
    handle: attr(2, be64big),
    name: attr(3, text),
    hook: attr(
      4,
      table('hook', {
        number: attr(1, be32),
        priority: attr(2, be32),
        device: attr(3, text),
        devices: attr(4, table('devices', { names: many(1, text) })),
      }),
    ),
    policy: attr(5, choice(be32, { drop: 0, accept: 1 })),
    rules: attr(6, be32),
    type: attr(7, text),
    counters: attr(8, table('counters', { bytes: attr(1, be64big), packets: attr(2, be64big) })),
    flags: attr(10, be32),
    id: attr(11, be32),
    userData: attr(12, bytes),
  }),
);

export const nftRuleMessage = message(
  'nft rule',
  nfHeader,
  table('rule', {
    table: attr(1, text),
    chain: attr(2, text),
    handle: attr(3, be64big),
    expressions: attr(4, expressionList),
    compat: attr(5, bytes),
    position: attr(6, be64big),
    userData: attr(7, bytes),
    id: attr(9, be32),
    positionId: attr(10, be32),
    chainId: attr(11, be32),
  }),
);

export const setMessage = message(
  'nft set',
  nfHeader,
  table('set', {
    table: attr(1, text),
    name: attr(2, text),
    flags: attr(3, be32),
    keyType: attr(4, be32),
    keyLength: attr(5, be32),
    dataType: attr(6, be32),
    dataLength: attr(7, be32),
    policy: attr(8, be32),
    description: attr(
      9,
      table('description', {
        size: attr(1, be32),
        parts: attr(2, table('parts', { items: many(1, table('part', { length: attr(1, be32) })) })),
      }),
    ),
    id: attr(10, be32),
    timeoutMs: attr(11, be64big),
    gcIntervalMs: attr(12, be32),
    userData: attr(13, bytes),
    objectType: attr(15, be32),
    handle: attr(16, be64big),
    expression: attr(17, expression),
    expressions: attr(18, expressionList),
    backend: attr(19, text),
    elementCount: attr(20, be32),
  }),
);

const element = table('element', {
  key: attr(1, data),
  data: attr(2, data),
  flags: attr(3, be32),
  timeoutMs: attr(4, be64big),
  expirationMs: attr(5, be64big),
  userData: attr(6, bytes),
  expression: attr(7, expression),
  objectReference: attr(9, text),
  keyEnd: attr(10, data),
  expressions: attr(11, expressionList),
});

export const elementsMessage = message(
  'nft elements',
  nfHeader,
  table('elements', {
    table: attr(1, text),
    set: attr(2, text),
    elements: attr(3, table('elements', { items: many(1, element) })),
    setId: attr(4, be32),
  }),
);
