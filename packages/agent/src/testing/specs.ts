/** For tests: wishes of a pod with good defaults. */
import type { PodInterface, PodNetworkSpec } from '@podloom/api';

export const podInterface = (host: number, more: Partial<PodInterface> = {}): PodInterface => ({
  key: 'PodConfig/nets/0',
  namePrefix: 'pc0',
  source: { apiVersion: 'podconfig.opdev.io/v1alpha1', kind: 'PodConfig', name: 'nets' },
  link: { type: 'veth' },
  bridge: { name: 'pcbr0', device: 'pcbr0', gateways: ['192.168.100.1/24', 'fd00:100::1/64'], home: 'node' },
  addresses: [`192.168.100.${host}/24`, `fd00:100::${host}/64`],
  routes: [],
  ...more,
});

export const podSpec = (
  podUid: string,
  interfaces: PodInterface[],
  more: Partial<PodNetworkSpec> = {},
): PodNetworkSpec => ({
  podUid,
  nodeName: 'here',
  interfaces,
  ...more,
});
