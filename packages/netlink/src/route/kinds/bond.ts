/** Links that gather others (bond, vrf) and their members. */
import { attr, list, table } from '../../codec/table.ts';
import { bool8, choice, i32, ip4, ip6, mac, u16, u32, u8 } from '../../codec/type.ts';

const modes = {
  'balance-rr': 0,
  'active-backup': 1,
  'balance-xor': 2,
  broadcast: 3,
  '802.3ad': 4,
  'balance-tlb': 5,
  'balance-alb': 6,
} as const;

export const bond = table('bond', {
  mode: attr(1, choice(u8, modes)),
  activePort: attr(2, u32),
  miimon: attr(3, u32),
  updelay: attr(4, u32),
  downdelay: attr(5, u32),
  useCarrier: attr(6, bool8),
  arpInterval: attr(7, u32),
  arpIpTargets: attr(8, list(ip4, 0)),
  arpValidate: attr(9, u32),
  arpAllTargets: attr(10, u32),
  primary: attr(11, u32),
  primaryReselect: attr(12, u8),
  failOverMac: attr(13, u8),
  xmitHashPolicy: attr(14, u8),
  resendIgmp: attr(15, u32),
  peerNotifications: attr(16, u8),
  allPortsActive: attr(17, bool8),
  minLinks: attr(18, u32),
  lpInterval: attr(19, u32),
  packetsPerPort: attr(20, u32),
  lacpRate: attr(21, u8),
  adSelect: attr(22, u8),
  adInfo: attr(
    23,
    table('adInfo', {
      aggregator: attr(1, u16),
      ports: attr(2, u16),
      actorKey: attr(3, u16),
      partnerKey: attr(4, u16),
      partnerMac: attr(5, mac),
    }),
  ),
  adActorSystemPriority: attr(24, u16),
  adUserPortKey: attr(25, u16),
  adActorSystem: attr(26, mac),
  tlbDynamicLb: attr(27, bool8),
  peerNotifyDelay: attr(28, u32),
  lacpActive: attr(29, bool8),
  missedMax: attr(30, u8),
  nsIp6Targets: attr(31, list(ip6, 0)),
  coupledControl: attr(32, bool8),
  broadcastNeighbour: attr(33, bool8),
});

export const bondPort = table('bondPort', {
  state: attr(1, choice(u8, { active: 0, backup: 1 })),
  miiStatus: attr(2, u8),
  linkFailureCount: attr(3, u32),
  permanentAddress: attr(4, mac),
  queueId: attr(5, u16),
  adAggregatorId: attr(6, u16),
  adActorOperPortState: attr(7, u8),
  adPartnerOperPortState: attr(8, u16),
  priority: attr(9, i32),
});

export const vrf = table('vrf', { table: attr(1, u32) });
export const vrfPort = table('vrfPort', { table: attr(1, u32) });
