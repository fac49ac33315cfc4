/** WireGuard devices, as `wg(8)` shows and sets them. Keys never come into a message of an error. */
import { formatIp, isIp6, parseIp, parsePrefix } from '../codec/address.ts';
import { message } from '../codec/message.ts';
import { struct } from '../codec/struct.ts';
import { attr, list, table } from '../codec/table.ts';
import { bytes, i64big, ip, text, u16, u32, u64, u8, type InOf, type OutOf } from '../codec/type.ts';
import { LITTLE } from '../codec/writer.ts';
import type { Channel, LinkRef } from '../route/channel.ts';
import { AF_INET, AF_INET6 } from '../route/numbers.ts';
import { request } from '../wire/request.ts';
import { genericHeader, type GenericFamily } from './controller.ts';

const allowedIp = table('allowedIp', { family: attr(1, u16), address: attr(2, ip), length: attr(3, u8) });
const peer = table('peer', {
  publicKey: attr(1, bytes),
  presharedKey: attr(2, bytes),
  flags: attr(3, u32),
  endpoint: attr(4, bytes),
  keepaliveSeconds: attr(5, u16),
  lastHandshake: attr(6, struct({ seconds: i64big, nanoseconds: i64big })),
  rxBytes: attr(7, u64),
  txBytes: attr(8, u64),
  allowedIps: attr(9, list(allowedIp, 0)),
  protocolVersion: attr(10, u32),
});
export const wireguardMessage = message(
  'wireguard',
  genericHeader,
  table('wireguard', {
    index: attr(1, u32),
    name: attr(2, text),
    privateKey: attr(3, bytes),
    publicKey: attr(4, bytes),
    flags: attr(5, u32),
    listenPort: attr(6, u16),
    fwmark: attr(7, u32),
    peers: attr(8, list(peer, 0)),
  }),
);

const GET_DEVICE = 0;
const SET_DEVICE = 1;
const REPLACE_PEERS = 1;
const REMOVE_ME = 1;
const REPLACE_ALLOWED_IPS = 2;
const UPDATE_ONLY = 4;
/** An attribute has at most 64 KiB: so many allowed addresses (40 bytes each) go into one message. */
const ADDRESSES_A_MESSAGE = 1000;
/** What a peer takes besides its addresses, counted in those. */
const PEER_WEIGHT = 6;

export interface WireguardPeerSettings {
  /** In base64, as all keys. */
  readonly publicKey: string;
  readonly presharedKey?: string | undefined;
  /** `192.0.2.1:51820` or `[2001:db8::1]:51820`. */
  readonly endpoint?: string | undefined;
  /** 0 turns it off. */
  readonly keepaliveSeconds?: number | undefined;
  /** Replaces those that it had; without, they stay. */
  readonly allowedIps?: readonly string[] | undefined;
  readonly remove?: boolean | undefined;
  /** Only if there is such a peer. */
  readonly updateOnly?: boolean | undefined;
}
export interface WireguardSettings {
  readonly privateKey?: string | undefined;
  readonly listenPort?: number | undefined;
  readonly fwmark?: number | undefined;
  readonly peers?: readonly WireguardPeerSettings[] | undefined;
  /** Removes peers that are not given. */
  readonly replacePeers?: boolean | undefined;
}
export interface WireguardPeer {
  publicKey: string;
  presharedKey?: string;
  endpoint?: string;
  keepaliveSeconds: number;
  /** Milliseconds since 1970; absent before the first. */
  lastHandshakeMs?: number;
  rxBytes: number;
  txBytes: number;
  allowedIps: string[];
}
export interface WireguardDevice {
  index: number;
  name: string;
  publicKey?: string;
  privateKey?: string;
  listenPort: number;
  fwmark: number;
  peers: WireguardPeer[];
}

export function wireguardFamily(channel: Channel, family: (name: string) => GenericFamily) {
  return {
    /** Keys that are secret come only with `secrets`. */
    get(link: LinkRef, options: { readonly secrets?: boolean } = {}): WireguardDevice {
      const { id, version } = family('wireguard');
      const question = { command: GET_DEVICE, version, ...targetOf(link) };
      const parts = channel.dump(request('wireguard.get', id, 0, wireguardMessage, question), wireguardMessage);
      return toDevice(parts, options.secrets === true);
    },
    set(link: LinkRef, settings: WireguardSettings): void {
      const { id, version } = family('wireguard');
      const { privateKey, listenPort, fwmark, replacePeers } = settings;
      const [first = [], ...more] = inMessages(settings.peers ?? []);
      const to = { command: SET_DEVICE, version, ...targetOf(link) };
      const device = {
        privateKey: privateKey === undefined ? undefined : parseKey(privateKey),
        listenPort,
        fwmark,
        flags: replacePeers === true ? REPLACE_PEERS : undefined,
      };
      channel.run(request('wireguard.set', id, 0, wireguardMessage, { ...to, ...device, peers: first }));
      for (const peers of more) channel.run(request('wireguard.set', id, 0, wireguardMessage, { ...to, peers }));
    },
  };
}
export type Wireguard = ReturnType<typeof wireguardFamily>;

const targetOf = (link: LinkRef) => (typeof link === 'number' ? { index: link } : { name: link });

/** Peers as the kernel wants them, cut so that each list fits a message; the rest of a peer's addresses follows in the next one. */
function inMessages(peers: readonly WireguardPeerSettings[]): InOf<typeof peer>[][] {
  const out: InOf<typeof peer>[][] = [];
  let weight = ADDRESSES_A_MESSAGE;
  for (const one of peers) {
    const addresses = (one.allowedIps ?? []).map(toAllowedIp);
    let at = 0;
    do {
      const allowedIps = addresses.slice(at, at + ADDRESSES_A_MESSAGE - PEER_WEIGHT);
      const cost = PEER_WEIGHT + allowedIps.length;
      if (weight + cost > ADDRESSES_A_MESSAGE) {
        out.push([]);
        weight = 0;
      }
      out.at(-1)!.push({ ...(at === 0 ? peerBody(one) : { publicKey: parseKey(one.publicKey) }), allowedIps });
      weight += cost;
      at += ADDRESSES_A_MESSAGE - PEER_WEIGHT;
    } while (at < addresses.length);
  }
  return out;
}

function peerBody(given: WireguardPeerSettings): InOf<typeof peer> {
  const { presharedKey, endpoint, keepaliveSeconds } = given;
  const flags =
    (given.remove === true ? REMOVE_ME : 0) +
    (given.allowedIps === undefined ? 0 : REPLACE_ALLOWED_IPS) +
    (given.updateOnly === true ? UPDATE_ONLY : 0);
  return {
    publicKey: parseKey(given.publicKey),
    presharedKey: presharedKey === undefined ? undefined : parseKey(presharedKey),
    flags,
    endpoint: endpoint === undefined ? undefined : parseEndpoint(endpoint),
    keepaliveSeconds,
  };
}

function toAllowedIp(prefix: string): InOf<typeof allowedIp> {
  const { address, length } = parsePrefix(prefix);
  return { family: isIp6(address) ? AF_INET6 : AF_INET, address, length };
}

/** A device with many peers comes in several parts, and a peer with many addresses in two of them. */
function toDevice(parts: readonly ReturnType<typeof wireguardMessage.read>[], secrets: boolean): WireguardDevice {
  const [first] = parts;
  const peers = new Map<string, WireguardPeer>();
  for (const one of parts.flatMap((part) => part.peers ?? [])) {
    const seen = toPeer(one, secrets);
    const before = peers.get(seen.publicKey);
    if (before === undefined) peers.set(seen.publicKey, seen);
    else before.allowedIps.push(...seen.allowedIps);
  }
  return {
    index: first?.index ?? 0,
    name: first?.name ?? '',
    ...(first?.publicKey === undefined ? {} : { publicKey: formatKey(first.publicKey) }),
    ...(secrets && first?.privateKey !== undefined ? { privateKey: formatKey(first.privateKey) } : {}),
    listenPort: first?.listenPort ?? 0,
    fwmark: first?.fwmark ?? 0,
    peers: [...peers.values()],
  };
}

function toPeer(seen: OutOf<typeof peer>, secrets: boolean): WireguardPeer {
  const { presharedKey, lastHandshake } = seen;
  const endpoint = seen.endpoint === undefined ? undefined : formatEndpoint(seen.endpoint);
  const handshake =
    lastHandshake === undefined ? 0 : Number(lastHandshake.seconds) * 1000 + Number(lastHandshake.nanoseconds) / 1e6;
  const shared = secrets && presharedKey?.some((byte) => byte !== 0) === true;
  return {
    publicKey: seen.publicKey === undefined ? '' : formatKey(seen.publicKey),
    ...(shared ? { presharedKey: formatKey(presharedKey) } : {}),
    ...(endpoint === undefined ? {} : { endpoint }),
    keepaliveSeconds: seen.keepaliveSeconds ?? 0,
    ...(handshake === 0 ? {} : { lastHandshakeMs: handshake }),
    rxBytes: seen.rxBytes ?? 0,
    txBytes: seen.txBytes ?? 0,
    allowedIps: (seen.allowedIps ?? []).map(({ address, length }) => `${address ?? ''}/${length ?? 0}`),
  };
}

/** The text is not in the error: it may be a private key with a typing mistake. */
export function parseKey(key: string): Uint8Array {
  if (!/^[A-Za-z0-9+/]{43}=$/.test(key)) throw new RangeError('A WireGuard key is 32 bytes in base64');
  return Buffer.from(key, 'base64');
}

const formatKey = (key: Uint8Array): string => Buffer.from(key).toString('base64');

/** `struct sockaddr_in` or `sockaddr_in6`. */
export function parseEndpoint(endpoint: string): Uint8Array {
  const parts = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+)):(\d{1,5})$/i.exec(endpoint);
  const port = Number(parts?.[3]);
  if (parts === null || port > 0xffff) {
    throw new RangeError(`"${endpoint}" is not an endpoint such as 192.0.2.1:51820 or [2001:db8::1]:51820`);
  }
  const address = parseIp(parts[1] ?? parts[2]!);
  const six = address.length === 16;
  const out = Buffer.alloc(six ? 28 : 16);
  new DataView(out.buffer, out.byteOffset, out.length).setUint16(0, six ? AF_INET6 : AF_INET, LITTLE);
  out.writeUInt16BE(port, 2);
  out.set(address, six ? 8 : 4);
  return out;
}

export function formatEndpoint(bytes: Uint8Array): string | undefined {
  if (bytes.length !== 16 && bytes.length !== 28) return undefined;
  const port = (bytes[2]! << 8) | bytes[3]!;
  return bytes.length === 28 ? `[${formatIp(bytes, 8, 24)}]:${port}` : `${formatIp(bytes, 4, 8)}:${port}`;
}
