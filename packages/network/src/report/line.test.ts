import { describe, expect, it } from 'vitest';
import { configLine, primaryLine } from './line.ts';

describe('configLine', () => {
  it('shows a link by the words of the documents', () => {
    const line = configLine({
      key: 'k',
      state: 'Attached',
      name: 'pc02841804',
      hostName: 'hpc02841804',
      addresses: ['192.168.100.2/24'],
      bridgeDevice: 'pcbr0',
    });
    expect(line).toBe('{podVethName:pc02841804 podIPAddr:192.168.100.2/24 peerVethName:hpc02841804 bridge:pcbr0}');
  });

  it('joins several addresses and leaves empty what is not known yet', () => {
    const line = configLine({ key: 'k', state: 'Attached', name: 'a', addresses: ['10.0.0.2/24', 'fd00::2/64'] });
    expect(line).toBe('{podVethName:a podIPAddr:10.0.0.2/24,fd00::2/64 peerVethName: bridge:}');
  });
});

describe('primaryLine', () => {
  it('shows what the primary link has and had', () => {
    expect(primaryLine('eth0', 1400, 1500)).toBe('{podVethName:eth0 mtu:1400 before:1500}');
    expect(primaryLine('eth0', 1400, undefined)).toBe('{podVethName:eth0 mtu:1400}');
  });
});
