/** Linux networking for Node: every public name. */
export { open } from './namespace.ts';
export type { Families, Netns } from './namespace.ts';
export { unpinNetns } from './netns.ts';
export type { NetnsSource } from './netns.ts';
export { isNetlinkError, NetlinkError } from './wire/error.ts';
export type { Retry } from './wire/error.ts';
export type { LinkRef } from './route/channel.ts';
export type {
  Link,
  LinkAdd,
  LinkChange,
  LinkSettings,
  ListLinks,
  NetkitSettings,
  NetnsRef,
  PeerSettings,
} from './route/link.ts';
export { addressFlags } from './route/address.ts';
export type { Address, AddressSettings } from './route/address.ts';
