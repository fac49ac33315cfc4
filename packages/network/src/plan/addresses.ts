/**
 * Addresses of a link of ours. fe80:: addresses are the kernel's own and stay. The kernel drops the other addresses of a subnet
 * together with the first one (unless promote_secondaries is set), so removals come first and what went along is put back.
 */
import { formatIp, parseCidr } from '@podloom/api';
import type { Where } from './observed.ts';
import type { Step } from './step.ts';
import { canonicalAddress, isLinkLocal, rangeOf } from './world.ts';

export interface AddressWish {
  readonly in: Where;
  readonly link: string;
  readonly key?: string | undefined;
  readonly wanted: readonly string[];
  readonly observed: readonly string[];
  readonly noPrefixRoute: boolean;
  /** False: only add. Another may know of more addresses than this plan. */
  readonly remove: boolean;
}

export function planAddresses(wish: AddressWish): Step[] {
  const at = { in: wish.in, link: wish.link, key: wish.key };
  const wanted = [...new Set(wish.wanted.map(canonicalAddress))];
  const extra = wish.remove
    ? wish.observed.filter((address) => !wanted.includes(address) && !isLinkLocal(address))
    : [];
  const disturbed = new Set(extra.filter((address) => !address.includes(':')).map(rangeOf));
  const missing = wanted.filter((address) => !wish.observed.includes(address) || disturbed.has(rangeOf(address)));
  const add = (address: string): Step => {
    const { family, last, prefixLength } = parseCidr(address);
    const broadcast = family === 4 && prefixLength <= 30 ? formatIp({ family, value: last }) : undefined;
    return { do: 'addAddress', ...at, address, broadcast, noDad: family === 6, noPrefixRoute: wish.noPrefixRoute };
  };
  const remove = (address: string): Step => ({ do: 'removeAddress', ...at, address });
  return [...extra.map(remove), ...missing.map(add)];
}
