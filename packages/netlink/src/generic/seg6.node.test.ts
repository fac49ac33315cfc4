/** SRv6 settings against `ip sr`, both ways. */
import { describe, expect, it } from 'vitest';
import { open } from '../namespace.ts';
import { tool, whereKernelHas } from '../testing/oracle.ts';

describe('seg6', () => {
  it('sets and reads the source of tunnels as ip does', (context) => {
    using ns = open({ create: true });
    whereKernelHas('SEG6', context, () => ns.seg6.setTunnelSource('fd00::1'));
    expect(tool(ns, 'ip sr tunsrc show')).toContain('fd00::1');
    tool(ns, 'ip sr tunsrc set fd00::2');
    expect(ns.seg6.tunnelSource()).toBe('fd00::2');
  });

  it('makes, shows and removes keys as ip does', (context) => {
    using ns = open({ create: true });
    const secret = Buffer.from('s3cret-for-tests');
    whereKernelHas('SEG6 with HMAC', context, () => ns.seg6.setHmac({ keyId: 7, algorithm: 'sha256', secret }));
    expect(tool(ns, 'ip sr hmac show')).toMatch(/hmac 7 algo sha256 secret "s3cret-for-tests"/);
    expect(ns.seg6.hmacs()).toEqual([{ keyId: 7, algorithm: 'sha256' }]);
    expect(ns.seg6.hmacs({ secrets: true })).toMatchObject([{ keyId: 7, secret: Uint8Array.from(secret) }]);
    ns.seg6.deleteHmac(7);
    expect(tool(ns, 'ip sr hmac show').trim()).toBe('');
    expect(() => ns.seg6.deleteHmac(7)).toThrow('seg6.deleteHmac: ENOENT');
  });
});
