/**
 * nf_tables: tables, chains, sets and rules, as `nft(8)` names them. All changes of a transaction happen together or not at all, so a
 * ruleset is never half there. What is not here: maps, objects and flowtables.
 */
import type { Socket } from '../wire/socket.ts';
import { NLM_F_APPEND, NLM_F_CREATE, request, type Request } from '../wire/request.ts';
import { toExpression, type NftExpression, type SeenNftExpression } from './expressions.ts';
import {
  batchMessage,
  chainMessage,
  elementsMessage,
  nftRuleMessage,
  setMessage,
  tableMessage,
  type NftFamily,
} from './messages.ts';
import {
  elementsFromWire,
  elementsToWire,
  keyShape,
  keyUserData,
  typesOf,
  type NftType,
  type WireElement,
} from './set-elements.ts';

const SUBSYSTEM = 10;
const BATCH_BEGIN = 0x10;
const BATCH_END = 0x11;
const type = (message: number): number => SUBSYSTEM * 256 + message;
const NEWTABLE = type(0);
const GETTABLE = type(1);
const DELTABLE = type(2);
const NEWCHAIN = type(3);
const GETCHAIN = type(4);
const DELCHAIN = type(5);
const NEWRULE = type(6);
const GETRULE = type(7);
const DELRULE = type(8);
const NEWSET = type(9);
const GETSET = type(10);
const DELSET = type(11);
const NEWSETELEM = type(12);
const GETSETELEM = type(13);
const DELSETELEM = type(14);

const CONSTANT = 2;
const INTERVAL = 4;
const CONCATENATED = 0x80;
const INTERVAL_END = 1;
/** An attribute has at most 64 KiB, and an element of the longest kind about a hundred bytes. */
const ELEMENTS_A_MESSAGE = 400;

export interface NftTable {
  readonly family: NftFamily;
  readonly name: string;
}
const hooks = { prerouting: 0, input: 1, forward: 2, output: 3, postrouting: 4, ingress: 0, egress: 1 } as const;
export type NftHook = keyof typeof hooks;

export interface NftChain {
  readonly family: NftFamily;
  readonly table: string;
  readonly name: string;
  /** Where packets enter it; without, it is only jumped to. */
  readonly hook?: NftHook | undefined;
  /** Lower comes first; 0 is where filters usually are, -400 before connection tracking's defragmentation. */
  readonly priority?: number | undefined;
  readonly type?: string | undefined;
  readonly policy?: 'accept' | 'drop' | undefined;
  /** Of the family netdev: the link. */
  readonly device?: string | undefined;
}
export interface NftRule {
  readonly family: NftFamily;
  readonly table: string;
  readonly chain: string;
  readonly expressions: readonly NftExpression[];
  readonly comment?: string | undefined;
}
export interface SeenNftRule {
  family: NftFamily;
  table: string;
  chain: string;
  /** For `deleteRule`. */
  handle: bigint;
  expressions: SeenNftExpression[];
  comment?: string;
}
export interface NftSet {
  readonly family: NftFamily;
  readonly table: string;
  readonly name: string;
  /** One type, or several that make one key. */
  readonly type: NftType | readonly NftType[];
  /** Also holds ranges and prefixes. */
  readonly interval?: boolean | undefined;
  /** Cannot change after the transaction that made it. */
  readonly constant?: boolean | undefined;
}
/** A set as the kernel shows it; without `type` if it holds something that has no name here. */
export type SeenNftSet = Omit<NftSet, 'type'> & { type?: NftType[] };

/** The changes of one transaction, in order. */
export interface NftTransaction {
  /** Does nothing if it is there. */
  addTable(table: NftTable): void;
  /** With everything in it. */
  deleteTable(table: NftTable): void;
  addChain(chain: NftChain): void;
  deleteChain(chain: Pick<NftChain, 'family' | 'table' | 'name'>): void;
  /** Removes the rules of a chain. */
  flushChain(chain: Pick<NftChain, 'family' | 'table' | 'name'>): void;
  /** At the end of its chain. */
  addRule(rule: NftRule): void;
  /** At the beginning of its chain. */
  insertRule(rule: NftRule): void;
  deleteRule(rule: Pick<SeenNftRule, 'family' | 'table' | 'chain' | 'handle'>): void;
  addSet(set: NftSet): void;
  deleteSet(set: Pick<NftSet, 'family' | 'table' | 'name'>): void;
  /** As text: `10.0.0.1`; of intervals also `10.0.0.0/24`, `10.0.0.1-10.0.0.9`; of several types joined by ` . `. */
  addElements(set: NftSet, elements: readonly string[]): void;
  deleteElements(set: NftSet, elements: readonly string[]): void;
  /** Removes all elements. */
  flushSet(set: Pick<NftSet, 'family' | 'table' | 'name'>): void;
}

interface RulesOf {
  readonly family: NftFamily;
  readonly table: string;
  readonly chain?: string | undefined;
}

export function nftFamily(socket: Socket) {
  return {
    /**
     * Sends what `work` asks for as one: all of it happens, or nothing and the first error is thrown. It must fit a datagram (about
     * 1 MiB, say 20,000 elements), else it is EMSGSIZE.
     */
    transaction(work: (transaction: NftTransaction) => void): void {
      const requests: Request[] = [];
      work(collect(requests));
      if (requests.length === 0) return;
      const mark = { resource: SUBSYSTEM };
      socket.transact([
        request('nft.transaction', BATCH_BEGIN, 0, batchMessage, mark),
        ...requests,
        request('nft.transaction', BATCH_END, 0, batchMessage, mark),
      ]);
    },
    tables: (): NftTable[] =>
      socket
        .dump(request('nft.tables', GETTABLE, 0, tableMessage, {}), tableMessage)
        .map((seen) => ({ family: named(seen.family), name: seen.name ?? '' })),
    chains: (of: { readonly family?: NftFamily; readonly table?: string } = {}): NftChain[] =>
      socket
        .dump(request('nft.chains', GETCHAIN, 0, chainMessage, { family: of.family }), chainMessage)
        .filter((seen) => of.table === undefined || seen.table === of.table)
        .map(toChain),
    rules({ family, table, chain }: RulesOf): SeenNftRule[] {
      const which = { family, table, chain };
      return socket.dump(request('nft.rules', GETRULE, 0, nftRuleMessage, which), nftRuleMessage).map(toRule);
    },
    /** Named ones; those that nft(8) writes into a rule itself are left out. */
    sets: ({ family, table }: { readonly family?: NftFamily; readonly table?: string } = {}): SeenNftSet[] =>
      socket
        .dump(request('nft.sets', GETSET, 0, setMessage, { family, table }), setMessage)
        .filter((seen) => ((seen.flags ?? 0) & 1) === 0)
        .map(toSet),
    /** In no order; of intervals by address. */
    elements(set: NftSet): string[] {
      const which = { family: set.family, table: set.table, set: set.name };
      const seen = socket.dump(request('nft.elements', GETSETELEM, 0, elementsMessage, which), elementsMessage);
      const wire = seen.flatMap((part) => part.elements?.items ?? []).map(toWireElement);
      return elementsFromWire(partsOf(set), set.interval === true, wire);
    },
  };
}
export type Nft = ReturnType<typeof nftFamily>;

type SeenElement = NonNullable<NonNullable<ReturnType<typeof elementsMessage.read>['elements']>['items']>[number];

function toWireElement({ key, keyEnd, flags = 0 }: SeenElement): WireElement {
  const start = { key: key?.value ?? new Uint8Array(), isEnd: (flags & INTERVAL_END) !== 0 };
  return keyEnd?.value === undefined ? start : { ...start, keyEnd: keyEnd.value };
}

function collect(requests: Request[]): NftTransaction {
  const push = (one: Request): void => void requests.push(one);
  const elements = (verb: string, number: number, flags: number, set: NftSet, given: readonly string[]): void => {
    const wire = elementsToWire(partsOf(set), set.interval === true, given).map(({ key, keyEnd, isEnd }) => ({
      key: { value: key },
      keyEnd: keyEnd === undefined ? undefined : { value: keyEnd },
      flags: isEnd === true ? INTERVAL_END : undefined,
    }));
    for (let i = 0; i < wire.length; i += ELEMENTS_A_MESSAGE) {
      const part = wire.slice(i, i + ELEMENTS_A_MESSAGE);
      const body = { family: set.family, table: set.table, set: set.name, elements: { items: part } };
      push(request(`nft.${verb}`, number, flags, elementsMessage, body));
    }
  };
  const rule = (verb: string, flags: number, { family, table, chain, comment, expressions }: NftRule): void => {
    const userData = comment === undefined ? undefined : commentData(comment);
    const body = { family, table, chain, expressions: { items: expressions }, userData };
    push(request(`nft.${verb}`, NEWRULE, NLM_F_CREATE | flags, nftRuleMessage, body));
  };
  return {
    addTable: ({ family, name }) =>
      push(request('nft.addTable', NEWTABLE, NLM_F_CREATE, tableMessage, { family, name })),
    deleteTable: ({ family, name }) => push(request('nft.deleteTable', DELTABLE, 0, tableMessage, { family, name })),
    addChain: (chain) => push(request('nft.addChain', NEWCHAIN, NLM_F_CREATE, chainMessage, chainBody(chain))),
    deleteChain: ({ family, table, name }) =>
      push(request('nft.deleteChain', DELCHAIN, 0, chainMessage, { family, table, name })),
    flushChain: ({ family, table, name }) =>
      push(request('nft.flushChain', DELRULE, 0, nftRuleMessage, { family, table, chain: name })),
    addRule: (given) => rule('addRule', NLM_F_APPEND, given),
    insertRule: (given) => rule('insertRule', 0, given),
    deleteRule: ({ family, table, chain, handle }) =>
      push(request('nft.deleteRule', DELRULE, 0, nftRuleMessage, { family, table, chain, handle })),
    addSet: (set) => push(request('nft.addSet', NEWSET, NLM_F_CREATE, setMessage, setBody(set, requests.length + 1))),
    deleteSet: ({ family, table, name }) =>
      push(request('nft.deleteSet', DELSET, 0, setMessage, { family, table, name })),
    addElements: (set, given) => elements('addElements', NEWSETELEM, NLM_F_CREATE, set, given),
    deleteElements: (set, given) => elements('deleteElements', DELSETELEM, 0, set, given),
    flushSet: ({ family, table, name }) =>
      push(request('nft.flushSet', DELSETELEM, 0, elementsMessage, { family, table, set: name })),
  };
}

const partsOf = (set: NftSet): readonly NftType[] => (typeof set.type === 'string' ? [set.type] : set.type);
const named = (family: NftFamily | number): NftFamily => family as NftFamily;

function chainBody({ family, table, name, hook, priority, device, policy, type: kind }: NftChain) {
  const place = { family, table, name };
  if (hook === undefined) return place;
  const inetIngress = family === 'inet' && hook === 'ingress' ? 5 : undefined;
  return {
    ...place,
    policy,
    type: kind ?? 'filter',
    hook: { number: inetIngress ?? hooks[hook], priority: (priority ?? 0) >>> 0, device },
  };
}

function toChain(seen: ReturnType<typeof chainMessage.read>): NftChain {
  const { hook, policy, type: kind } = seen;
  const place = { family: named(seen.family), table: seen.table ?? '', name: seen.name ?? '' };
  if (hook === undefined) return place;
  const device = hook.device ?? hook.devices?.names?.[0];
  return {
    ...place,
    hook: hookName(place.family, hook.number ?? 0),
    priority: (hook.priority ?? 0) | 0,
    ...(kind === undefined ? {} : { type: kind }),
    ...(policy === 'accept' || policy === 'drop' ? { policy } : {}),
    ...(device === undefined ? {} : { device }),
  };
}

function hookName(family: NftFamily, number: number): NftHook {
  if (family === 'netdev') return number === 0 ? 'ingress' : 'egress';
  return (['prerouting', 'input', 'forward', 'output', 'postrouting'] as const)[number] ?? 'ingress';
}

function setBody(set: NftSet, id: number) {
  const parts = partsOf(set);
  const { type: keyType, length, lengths } = keyShape(parts);
  const concatenated = parts.length > 1 && set.interval === true;
  const flags =
    (set.constant === true ? CONSTANT : 0) + (set.interval === true ? INTERVAL : 0) + (concatenated ? CONCATENATED : 0);
  return {
    family: set.family,
    table: set.table,
    name: set.name,
    flags,
    keyType,
    keyLength: length,
    userData: keyUserData(parts),
    id,
    description: concatenated ? { parts: { items: lengths.map((one) => ({ length: one })) } } : undefined,
  };
}

function toSet(seen: ReturnType<typeof setMessage.read>): SeenNftSet {
  const types = typesOf(seen.keyType ?? 0);
  const flags = seen.flags ?? 0;
  return {
    family: named(seen.family),
    table: seen.table ?? '',
    name: seen.name ?? '',
    interval: (flags & INTERVAL) !== 0,
    constant: (flags & CONSTANT) !== 0,
    ...(types === undefined ? {} : { type: types }),
  };
}

function toRule(seen: ReturnType<typeof nftRuleMessage.read>): SeenNftRule {
  const comment = seen.userData === undefined ? undefined : commentOf(seen.userData);
  return {
    family: named(seen.family),
    table: seen.table ?? '',
    chain: seen.chain ?? '',
    handle: seen.handle ?? 0n,
    expressions: (seen.expressions?.items ?? []).map(toExpression),
    ...(comment === undefined ? {} : { comment }),
  };
}

/** As nft(8) keeps it: type, length and value, of which the type 0 is the comment. */
function commentData(comment: string): Uint8Array {
  const value = Buffer.from(`${comment}\0`);
  if (value.length > 128) throw new RangeError('A comment has at most 127 bytes');
  return Buffer.concat([Uint8Array.of(0, value.length), value]);
}

function commentOf(userData: Uint8Array): string | undefined {
  for (let at = 0; at + 2 <= userData.length; at += 2 + userData[at + 1]!) {
    const end = at + 2 + userData[at + 1]!;
    if (userData[at] === 0 && end <= userData.length) {
      return Buffer.from(userData.subarray(at + 2, end))
        .toString('utf8')
        .replace(/\0.*$/s, '');
    }
  }
  return undefined;
}
