import type { Address } from '@podloom/netlink';
import { expect, it } from 'vitest';
import { observeAddresses } from './namespace.ts';

it('leaves out addresses that no plan can be made with', () => {
  const prefixes = ['192.168.100.2/24', '::ffff:10.0.0.1/128', 'fd00:100::2/64'];
  const seen = observeAddresses(prefixes.map((prefix) => ({ index: 2, prefix }) as Address));
  expect(seen.map(({ address }) => address)).toEqual(['192.168.100.2/24', 'fd00:100::2/64']);
});
