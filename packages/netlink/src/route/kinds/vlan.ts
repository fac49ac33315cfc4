/** Links on top of another link: vlan, macvlan, macvtap, ipvlan, ipvtap. */
import { struct } from '../../codec/struct.ts';
import { attr, many, table } from '../../codec/table.ts';
import { be16, choice, mac, u16, u32 } from '../../codec/type.ts';

export const vlanProtocol = choice(be16, { '802.1Q': 0x8100, '802.1ad': 0x88a8 });

const qos = table('qos', { mappings: many(1, struct({ from: u32, to: u32 })) });

export const vlan = table('vlan', {
  id: attr(1, u16),
  /** Bits to set, and which: 1 reorder header, 2 GVRP, 4 loose binding, 8 MVRP, 16 bridge binding. */
  flags: attr(2, struct({ flags: u32, mask: u32 })),
  egressQos: attr(3, qos),
  ingressQos: attr(4, qos),
  protocol: attr(5, vlanProtocol),
});

const addresses = table('addresses', { address: many(4, mac) });

export const macvlan = table('macvlan', {
  mode: attr(1, choice(u32, { private: 1, vepa: 2, bridge: 4, passthru: 8, source: 16 })),
  flags: attr(2, u16),
  macaddrMode: attr(3, choice(u32, { add: 0, delete: 1, flush: 2, set: 3 })),
  macaddr: attr(4, mac),
  macaddrList: attr(5, addresses),
  macaddrCount: attr(6, u32),
  broadcastQueueLength: attr(7, u32),
  broadcastQueueLengthUsed: attr(8, u32),
});

export const ipvlan = table('ipvlan', {
  mode: attr(1, choice(u16, { l2: 0, l3: 1, l3s: 2 })),
  /** 1 private, 2 VEPA. */
  flags: attr(2, u16),
});
