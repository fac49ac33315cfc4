/** The door of the package. It runs in the browser: no Node built-ins behind it. */
export { Bug, Conflict, InvalidInput, PodloomError, Unavailable } from './errors.ts';
export { defineKind } from './kind.ts';
export type { Kind, ObjectOf } from './kind.ts';
export { ipPoolKind } from './kinds/ippool.ts';
export type { IPAllocation, IPPool, IPPoolSpec, IPPoolSpecInput, IPPoolStatus } from './kinds/ippool.ts';
export { nodeLabel, podNetworkKind } from './kinds/podnetwork.ts';
export type {
  PodInterface,
  PodInterfaceStatus,
  PodNetwork,
  PodNetworkSpec,
  PodNetworkSpecInput,
  PodNetworkStatus,
  PrimaryLinkState,
} from './kinds/podnetwork.ts';
export type {
  Condition,
  KubeList,
  KubeObject,
  ListMeta,
  ManagedFieldsEntry,
  ObjectMeta,
  OwnerReference,
  Resource,
} from './meta.ts';
export { linkTypes } from './schema/fields.ts';
export type { LinkType } from './schema/fields.ts';
export { cidrContains, formatIp, isCidr, isIp, parseCidr, parseIp } from './schema/ip.ts';
export type { Cidr, IpAddress } from './schema/ip.ts';
