/**
 * Every kind of link with the table of its settings (IFLA_INFO_DATA), and of members (IFLA_INFO_SLAVE_DATA). `Link` and `LinkAdd`
 * are typed from these two. veth and netkit are in `link-table.ts`: they hold a link message themselves.
 */
import { attr, table } from '../../codec/table.ts';
import { bool8, choice, u32, u8 } from '../../codec/type.ts';
import { bond, bondPort, vrf, vrfPort } from './bond.ts';
import { bridge, bridgePort } from './bridge.ts';
import { geneve, gre, ip6tnl, ipip, sit, vti, vxlan, xfrm } from './tunnels.ts';
import { ipvlan, macvlan, vlan } from './vlan.ts';

const none = table('settings', {});

/** Only read: the kernel makes tun and tap through /dev/net/tun, see `tuntap.ts`. */
const tun = table('tun', {
  owner: attr(1, u32),
  group: attr(2, u32),
  type: attr(3, choice(u8, { tun: 1, tap: 2 })),
  pi: attr(4, bool8),
  vnetHdr: attr(5, bool8),
  persist: attr(6, bool8),
  multiQueue: attr(7, bool8),
  queues: attr(8, u32),
  disabledQueues: attr(9, u32),
});

export const linkKinds = {
  bond,
  bridge,
  dummy: none,
  erspan: gre,
  geneve,
  gre,
  gretap: gre,
  ifb: none,
  ip6erspan: gre,
  ip6gre: gre,
  ip6gretap: gre,
  ip6tnl,
  ipip,
  ipvlan,
  ipvtap: ipvlan,
  macvlan,
  macvtap: macvlan,
  nlmon: none,
  sit,
  tun,
  vlan,
  vrf,
  vti,
  vxlan,
  wireguard: none,
  xfrm,
};

export const portKinds = { bond: bondPort, bridge: bridgePort, vrf: vrfPort };
