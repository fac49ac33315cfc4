import type { Netns } from '@podloom/netlink';
import { expect, it } from 'vitest';
import { setSysctl } from './sysctl.ts';

it('puts back what was there where the kernel keeps a value as another', () => {
  const path = 'net/ipv4/neigh/eth0/retrans_time_ms';
  const world = { value: '1000' };
  const sysctl = {
    get: () => world.value,
    set: (_: string, value: string) => void (world.value = String(Math.ceil(Number(value) / 4) * 4)),
  };
  const netns = { sysctl } as unknown as Netns;
  expect(() => setSysctl(netns, path, '1001')).toThrow('the kernel keeps 1004 instead of 1001; ask for 1004');
  expect(world.value).toBe('1000');
  setSysctl(netns, path, '1004');
  expect(world.value).toBe('1004');
});
