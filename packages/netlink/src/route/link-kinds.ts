/** Settings per link kind: IFLA_INFO_DATA. One table a kind; the kinds of `Link` and `LinkAdd` are typed from here. */
import { attr, table } from '../codec/table.ts';
import { be16, bool8, mac, u16, u32, u8 } from '../codec/type.ts';

/** veth and netkit hold their other end as a whole link message, so that table is given in `link-table.ts`. */
const none = table('settings', {});

const bridge = table('bridge', {
  forwardDelay: attr(1, u32),
  helloTime: attr(2, u32),
  maxAge: attr(3, u32),
  ageingTime: attr(4, u32),
  stpState: attr(5, u32),
  priority: attr(6, u16),
  vlanFiltering: attr(7, bool8),
  vlanProtocol: attr(8, be16),
  groupFwdMask: attr(9, u16),
  groupAddress: attr(20, mac),
  mcastSnooping: attr(23, bool8),
  vlanDefaultPvid: attr(39, u16),
});

const vlan = table('vlan', {
  id: attr(1, u16),
  protocol: attr(5, be16),
});

const macvlan = table('macvlan', { mode: attr(1, u32), flags: attr(2, u16) });
const brport = table('brport', { state: attr(1, u8), isolated: attr(33, bool8) });

export const linkKinds = { bridge, vlan, macvlan, dummy: none };
export const portKinds = { bridge: brport };
