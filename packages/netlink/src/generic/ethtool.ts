/** `ethtool`: what a link's hardware or driver does. Reads everything that is here, changes features (offloads) only. */
import { message, type Message } from '../codec/message.ts';
import { attr, many, table } from '../codec/table.ts';
import { bool8, bytes, choice, flag, text, u32, u8, type OutOf } from '../codec/type.ts';
import type { Channel, LinkRef } from '../route/channel.ts';
import { NetlinkError } from '../wire/error.ts';
import { request } from '../wire/request.ts';
import { genericHeader, type GenericFamily } from './controller.ts';

const target = attr(1, table('header', { index: attr(1, u32), name: attr(2, text), flags: attr(3, u32) }));
const bit = table('bit', { index: attr(1, u32), name: attr(2, text), value: attr(3, flag) });
const bitset = table('bitset', {
  noMask: attr(1, flag),
  size: attr(2, u32),
  bits: attr(3, table('bits', { items: many(1, bit) })),
  value: attr(4, bytes),
  mask: attr(5, bytes),
});

const ethtoolMessage = <F extends Parameters<typeof table>[1]>(name: string, fields: F) =>
  message(`ethtool ${name}`, genericHeader, table(name, { target, ...fields }));

export const linkInfoMessage = ethtoolMessage('linkInfo', {
  port: attr(2, choice(u8, { tp: 0, aui: 1, mii: 2, fibre: 3, bnc: 4, da: 5, none: 0xef, other: 0xff })),
  phyAddress: attr(3, u8),
  mdix: attr(4, u8),
  mdixControl: attr(5, u8),
  transceiver: attr(6, choice(u8, { internal: 0, external: 1 })),
});
export const linkModesMessage = ethtoolMessage('linkModes', {
  autonegotiation: attr(2, bool8),
  ours: attr(3, bitset),
  peer: attr(4, bitset),
  speedMbps: attr(5, u32),
  duplex: attr(6, choice(u8, { half: 0, full: 1, unknown: 0xff })),
  lanes: attr(9, u32),
});
export const linkStateMessage = ethtoolMessage('linkState', {
  carrier: attr(2, bool8),
  signalQuality: attr(3, u32),
  signalQualityMax: attr(4, u32),
  extendedState: attr(5, u8),
  extendedSubstate: attr(6, u8),
  downCount: attr(7, u32),
});
export const featuresMessage = ethtoolMessage('features', {
  hardware: attr(2, bitset),
  wanted: attr(3, bitset),
  active: attr(4, bitset),
  unchangeable: attr(5, bitset),
});
export const ringsMessage = ethtoolMessage('rings', {
  rxMax: attr(2, u32),
  rxMiniMax: attr(3, u32),
  rxJumboMax: attr(4, u32),
  txMax: attr(5, u32),
  rx: attr(6, u32),
  rxMini: attr(7, u32),
  rxJumbo: attr(8, u32),
  tx: attr(9, u32),
  rxBufferBytes: attr(10, u32),
  tcpDataSplit: attr(11, u8),
  completionEventBytes: attr(12, u32),
  txPush: attr(13, bool8),
});
export const channelsMessage = ethtoolMessage('channels', {
  rxMax: attr(2, u32),
  txMax: attr(3, u32),
  otherMax: attr(4, u32),
  combinedMax: attr(5, u32),
  rx: attr(6, u32),
  tx: attr(7, u32),
  other: attr(8, u32),
  combined: attr(9, u32),
});
export const coalesceMessage = ethtoolMessage('coalesce', {
  rxUs: attr(2, u32),
  rxFrames: attr(3, u32),
  rxIrqUs: attr(4, u32),
  rxIrqFrames: attr(5, u32),
  txUs: attr(6, u32),
  txFrames: attr(7, u32),
  txIrqUs: attr(8, u32),
  txIrqFrames: attr(9, u32),
  statsBlockUs: attr(10, u32),
  adaptiveRx: attr(11, bool8),
  adaptiveTx: attr(12, bool8),
});

const LINKINFO_GET = 2;
const LINKMODES_GET = 4;
const LINKSTATE_GET = 6;
const FEATURES_GET = 11;
const FEATURES_SET = 12;
const RINGS_GET = 15;
const CHANNELS_GET = 17;
const COALESCE_GET = 19;

export interface Feature {
  active: boolean;
  /** What was asked for; it differs from `active` where something else rules it out. */
  requested: boolean;
  /** The driver does not let it change. */
  fixed: boolean;
}

type Common = 'target' | 'command' | 'version' | 'unknown';
const common = new Set<string>(['target', 'command', 'version', 'unknown'] satisfies Common[]);

export function ethtoolFamily(channel: Channel, family: (name: string) => GenericFamily) {
  const questionFor = <Out, In>(verb: string, command: number, type: Message<Out, In>, link: LinkRef, more: object) => {
    const { id, version } = family('ethtool');
    const target = typeof link === 'number' ? { index: link } : { name: link };
    return request(`ethtool.${verb}`, id, 0, type as Message<Out, object>, { command, version, target, ...more });
  };
  const read = <Out extends object, In>(verb: string, command: number, type: Message<Out, In>, link: LinkRef) => {
    const seen = channel.get(questionFor(verb, command, type, link, {}), type);
    return Object.fromEntries(Object.entries(seen).filter(([key]) => !common.has(key))) as Omit<Out, Common>;
  };
  return {
    linkInfo: (link: LinkRef) => read('linkInfo', LINKINFO_GET, linkInfoMessage, link),
    linkModes(link: LinkRef) {
      const { ours, peer, ...rest } = read('linkModes', LINKMODES_GET, linkModesMessage, link);
      return { ...rest, supported: namesOf(ours), peer: namesOf(peer) };
    },
    linkState: (link: LinkRef) => read('linkState', LINKSTATE_GET, linkStateMessage, link),
    rings: (link: LinkRef) => read('rings', RINGS_GET, ringsMessage, link),
    channels: (link: LinkRef) => read('channels', CHANNELS_GET, channelsMessage, link),
    coalesce: (link: LinkRef) => read('coalesce', COALESCE_GET, coalesceMessage, link),
    /** By the kernel's names, such as `tx-checksum-ip-generic`. */
    features(link: LinkRef): Record<string, Feature> {
      const seen = read('features', FEATURES_GET, featuresMessage, link);
      const active = new Set(namesOf(seen.active));
      const wanted = new Set(namesOf(seen.wanted));
      const unchangeable = new Set(namesOf(seen.unchangeable));
      const all = (seen.hardware?.bits?.items ?? []).map(({ name = '', value }): [string, Feature] => [
        name,
        { active: active.has(name), requested: wanted.has(name), fixed: value !== true || unchangeable.has(name) },
      ]);
      return Object.fromEntries(all);
    },
    /** Leaves the others as they are. EOPNOTSUPP names those that did not become what was asked. */
    setFeatures(link: LinkRef, features: Readonly<Record<string, boolean>>): void {
      const items = Object.entries(features).map(([name, value]) => ({ name, value }));
      const change = questionFor('setFeatures', FEATURES_SET, featuresMessage, link, { wanted: { bits: { items } } });
      // The kernel answers with what it could not do; no answer where there was nothing to do.
      let missed: string[] = [];
      channel.runFor(change, (_, r, start, end) => {
        missed = (featuresMessage.read(r, start, end).wanted?.bits?.items ?? []).map(({ name = '' }) => name);
        return missed.length;
      });
      if (missed.length === 0) return;
      throw new NetlinkError('ethtool.setFeatures', 95, { kernelMessage: `${missed.join(', ')} did not change` });
    },
  };
}
export type Ethtool = ReturnType<typeof ethtoolFamily>;

/** Names of the bits that are set. A set without a mask lists only those. */
function namesOf(seen: OutOf<typeof bitset> | undefined): string[] {
  const items = seen?.bits?.items ?? [];
  return items.filter((one) => seen?.noMask === true || one.value === true).map(({ name = '' }) => name);
}
