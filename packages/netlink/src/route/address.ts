/** `ip address`. */
import { isIp6, parsePrefix } from '../codec/address.ts';
import { message } from '../codec/message.ts';
import { struct } from '../codec/struct.ts';
import { attr, table } from '../codec/table.ts';
import { i32, ip, text, u32, u8, type InOf, type OutOf } from '../codec/type.ts';
import { NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, request } from '../wire/request.ts';
import type { Channel, LinkRef } from './channel.ts';
import { AF_INET, AF_INET6, RTM_DELADDR, RTM_GETADDR, RTM_NEWADDR } from './numbers.ts';

const header = struct({ family: u8, prefixLength: u8, headerFlags: u8, scope: u8, index: i32 });
const cacheInfo = struct({ preferredLifetime: u32, validLifetime: u32, created: u32, updated: u32 });
const attributes = table('address', {
  address: attr(1, ip),
  local: attr(2, ip),
  label: attr(3, text),
  broadcast: attr(4, ip),
  anycast: attr(5, ip),
  cacheInfo: attr(6, cacheInfo),
  flags: attr(8, u32),
  metric: attr(9, u32),
  targetNetnsid: attr(10, i32),
  protocol: attr(11, u8),
});
export const addressMessage = message('address', header, attributes);

/** IFA_F_*: how an address is, or is to be. */
export const addressFlags = {
  noDad: 0x02,
  tentative: 0x40,
  permanent: 0x80,
  manageTempAddr: 0x100,
  noPrefixRoute: 0x200,
  autoJoin: 0x400,
} as const;

export interface AddressSettings {
  readonly link: LinkRef;
  /** With its prefix length: `10.0.0.1/24`. */
  readonly address: string;
  /** The far end of a point-to-point address. */
  readonly peer?: string | undefined;
  readonly broadcast?: string | undefined;
  readonly label?: string | undefined;
  readonly scope?: number | undefined;
  /** `addressFlags`, added up. */
  readonly flags?: number | undefined;
  readonly metric?: number | undefined;
  readonly protocol?: number | undefined;
  readonly validLifetime?: number | undefined;
  readonly preferredLifetime?: number | undefined;
}

/** An address as the kernel shows it; `prefix` is address and length as in `10.0.0.1/24`. */
export type Address = OutOf<typeof header> &
  Omit<OutOf<typeof attributes>, 'flags'> & { prefix: string; flags: number };

const FOREVER = 0xffff_ffff;

export function addressFamily(channel: Channel, indexOf: (ref: LinkRef) => number) {
  function body(settings: AddressSettings): InOf<typeof header> & InOf<typeof attributes> {
    const { link, address: prefix, peer, validLifetime, preferredLifetime, ...rest } = settings;
    const { address, length } = parsePrefix(prefix);
    const far = peer === undefined ? undefined : parsePrefix(peer);
    const lives = validLifetime !== undefined || preferredLifetime !== undefined;
    return {
      ...rest,
      index: indexOf(link),
      family: isIp6(address) ? AF_INET6 : AF_INET,
      prefixLength: far?.length ?? length,
      local: address,
      address: far?.address ?? address,
      cacheInfo: lives
        ? { validLifetime: validLifetime ?? FOREVER, preferredLifetime: preferredLifetime ?? validLifetime ?? FOREVER }
        : undefined,
    };
  }
  const change = (verb: string, type: number, flags: number, settings: AddressSettings): void =>
    channel.run(request(`address.${verb}`, type, flags, addressMessage, body(settings)));

  return {
    add: (settings: AddressSettings): void => change('add', RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, settings),
    /** Makes the address, or changes flags, lifetimes and metric of the one that is there. */
    replace: (settings: AddressSettings): void =>
      change('replace', RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, settings),
    delete: (settings: Pick<AddressSettings, 'link' | 'address' | 'peer'>): void =>
      change('delete', RTM_DELADDR, 0, settings),
    list(options: { readonly link?: LinkRef; readonly family?: number } = {}): Address[] {
      const filter = { family: options.family ?? 0, index: options.link === undefined ? 0 : indexOf(options.link) };
      return channel
        .dump(request('address.list', RTM_GETADDR, 0, addressMessage, filter), addressMessage)
        .map(toAddress);
    },
  };
}

export function toAddress(seen: OutOf<typeof header> & OutOf<typeof attributes>): Address {
  return {
    ...seen,
    flags: seen.flags ?? seen.headerFlags,
    prefix: `${seen.local ?? seen.address ?? ''}/${seen.prefixLength}`,
  };
}
