/** Linux networking for Node: every public name. */
export { open } from './namespace.ts';
export type { Netns } from './namespace.ts';
export type { Families } from './families.ts';
export { unpinNetns } from './netns.ts';
export type { NetnsSource } from './netns.ts';
export { isNetlinkError, NetlinkError } from './wire/error.ts';
export type { Retry } from './wire/error.ts';
export type { LinkRef } from './route/channel.ts';
export type {
  Link,
  LinkAdd,
  LinkChange,
  LinkOutline,
  LinkSettings,
  ListLinks,
  NetkitSettings,
  NetnsRef,
  PeerSettings,
} from './route/link.ts';
export { addressFlags } from './route/address.ts';
export type { Address, AddressSettings } from './route/address.ts';
export type { ListRoutes, Nexthop, Route, RouteSettings, SeenNexthop } from './route/route.ts';
export type { RouteMetrics } from './route/route-table.ts';
export type { Encap, SeenEncap } from './route/encap.ts';
export type { NexthopMember, NexthopObject, NexthopSettings } from './route/nexthop.ts';
export type { Netconf } from './route/netconf.ts';
export type { Rule, RuleSettings } from './route/rule.ts';
export { neighbourFlags, neighbourStates } from './route/neighbour.ts';
export type { FdbSettings, ListNeighbours, Neighbour, NeighbourSettings } from './route/neighbour.ts';
export type { PortVlan, VlanSettings } from './route/bridge-vlan.ts';
export type { LinkStats } from './route/stats.ts';
export type { Class, ClassSettings, Qdisc, QdiscPlace, QdiscSettings } from './tc/qdisc.ts';
export type { HtbClassSettings, HtbSettings, NetemSettings, Tbf, TbfSettings } from './tc/qdisc-kinds.ts';
export type { Filter, FilterOutline, FilterPlace, FilterProtocol, FilterSettings } from './tc/filter.ts';
export type { BpfInstruction, BpfSettings, FlowerSettings, U32Key, U32Settings } from './tc/filter-kinds.ts';
export type { Action, SeenAction } from './tc/actions.ts';
export type { Handle, TcStats } from './tc/message.ts';
export { counter as nftCounter, match as nftMatch, verdict as nftVerdict } from './netfilter/expressions.ts';
export type { NftExpression, SeenNftExpression } from './netfilter/expressions.ts';
export type { NftFamily } from './netfilter/messages.ts';
export type {
  Nft,
  NftChain,
  NftHook,
  NftRule,
  NftSet,
  NftTable,
  NftTransaction,
  SeenNftRule,
  SeenNftSet,
} from './netfilter/nft.ts';
export type { NftType } from './netfilter/set-elements.ts';
export type { Ethtool, Feature } from './generic/ethtool.ts';
export type { Seg6, Seg6Hmac } from './generic/seg6.ts';
export type {
  Wireguard,
  WireguardDevice,
  WireguardPeer,
  WireguardPeerSettings,
  WireguardSettings,
} from './generic/wireguard.ts';
export type { Sysctl } from './sysctl.ts';
export type { Tuntap, TuntapSettings } from './tuntap.ts';
export type { Capture, CaptureSettings } from './packet/capture.ts';
export type { RingStats } from './packet/ring.ts';
export { monitor } from './monitor/monitor.ts';
export type { Monitor, MonitorEvent, MonitorOptions } from './monitor/monitor.ts';
export type { BridgePort, Change, Topic } from './monitor/events.ts';
