/**
 * Addresses of a link of ours. The kernel drops the other IPv4 addresses of a subnet together with the first one (unless promote_secondaries
 * is set), and with the last IPv4 address of a link all IPv4 routes over it (fib_disable_ip). So removals come first, what went along is
 * put back, and each step knows what takes it back.
 */
import { formatIp, parseCidr } from '@podloom/api';
import type { Place, Route } from './observed.ts';
import type { Owner, Step } from './step.ts';
import { canonicalAddress, isLinkLocal, rangeOf } from '../address.ts';

export interface AddressWish {
  readonly in: Place;
  readonly owner: Owner;
  readonly link: string;
  readonly wanted: readonly string[];
  /**
   * The fe80:: address that the link may send from: where it has another one, made for a MAC that it had before, this takes its place. fe80:: addresses
   * of a link that has none yet, or without this, are the kernel's own business.
   */
  readonly linkLocal?: string | undefined;
  /** In the kernel's order: the first of a subnet is the one that takes the others along. */
  readonly observed: readonly string[];
  /** Routes of ours over the link that are to stay. */
  readonly routes: readonly Route[];
  readonly noPrefixRoute: boolean;
  readonly mustBeFree?: true | undefined;
  /** False: only add. Another may know of more addresses than this plan. */
  readonly remove: boolean;
}

export interface AddressPlan {
  readonly steps: readonly Step[];
  /** Those of the routes that went along, and are to be added again. */
  readonly lost: readonly Route[];
}

const isIp4 = (text: string): boolean => !text.includes(':');

export function planAddresses({ linkLocal, observed, ...wish }: AddressWish): AddressPlan {
  const at = { in: wish.in, owner: wish.owner, link: wish.link };
  const own = linkLocal !== undefined && observed.some(isLinkLocal) ? [linkLocal] : [];
  const wanted = [...new Set(wish.wanted.map(canonicalAddress))];
  const { noPrefixRoute, mustBeFree } = wish;
  const isExtra = (address: string): boolean =>
    !wanted.includes(address) && (isLinkLocal(address) ? own.length > 0 && address !== linkLocal : wish.remove);
  const add = (address: string): Step => {
    const { family, last, prefixLength } = parseCidr(address);
    const broadcast = family === 4 && prefixLength <= 30 ? formatIp({ family, value: last }) : undefined;
    return { do: 'addAddress', ...at, address, broadcast, noDad: family === 6, noPrefixRoute, mustBeFree };
  };
  const addRoute = (route: Route): Step => ({ do: 'addRoute', ...at, route });
  const remove = (address: string): Step => ({ do: 'removeAddress', ...at, address });

  // What is there by then.
  let there = [...observed];
  let routes = wish.routes.filter(({ to }) => isIp4(to));
  const steps: Step[] = [];
  const addMissing = (addresses: readonly string[]): void => {
    for (const address of addresses.filter((one) => !there.includes(one))) {
      const flushed = isIp4(address) && !there.some(isIp4) ? routes : [];
      steps.push(Object.assign(add(address), { back: [remove(address), ...flushed.map(addRoute)] }));
      there.push(address);
    }
  };
  // Before the old one goes: of a link without any, nobody would know that it had one.
  addMissing(own);
  for (const address of observed.filter(isExtra)) {
    const subnet = isIp4(address) ? there.filter((other) => rangeOf(other) === rangeOf(address)) : [];
    const gone = there.filter((other) => other === address || (subnet[0] === address && subnet.includes(other)));
    const hadIp4 = there.some(isIp4);
    there = there.filter((other) => !gone.includes(other));
    const flushed = hadIp4 && !there.some(isIp4) ? routes : [];
    routes = routes.filter((route) => !flushed.includes(route));
    // One that went along is removed all the same: with promote_secondaries it is still there.
    steps.push(Object.assign(remove(address), { back: [...gone.map(add), ...flushed.map(addRoute)] }));
  }
  addMissing(wanted);
  return { steps, lost: wish.routes.filter((route) => isIp4(route.to) && !routes.includes(route)) };
}
