import { expect, it } from 'vitest';
import { linkOf } from './types.ts';

it.each([
  ['nothing of a veth, whose bridge every link may have', { linkType: 'veth', parent: 'pc0', bridge: 'pcbr0' }, {}],
  [
    'parent and VLAN id of a type that is not made yet',
    { linkType: 'vlan', parent: 'eth1', vlanID: 7, mtu: 1400 },
    { parent: 'eth1', vlanID: 7 },
  ],
] as const)('linkOf takes %s', (_, { linkType, ...asked }, own) => {
  expect(linkOf({ linkType, ...asked })).toEqual({ type: linkType, ...own });
});
