/** WireGuard: what was set is what the kernel shows, to this socket and to another one; `wg` is not on every machine. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it, type TestContext } from 'vitest';
import { open, type Netns } from '../namespace.ts';
import { whereKernelHas } from '../testing/oracle.ts';

const key = (): string => randomBytes(32).toString('base64');

function withDevice(context: TestContext, work: (ns: Netns) => void): void {
  using ns = open({ create: true });
  whereKernelHas('WireGuard', context, () => void ns.link.add({ kind: 'wireguard', name: 'wg0' }));
  work(ns);
}

describe('WireGuard', () => {
  it('shows what was set, and secrets only if asked for', (context) =>
    withDevice(context, (ns) => {
      const peer = {
        publicKey: key(),
        presharedKey: key(),
        endpoint: '[2001:db8::1]:51820',
        keepaliveSeconds: 25,
        allowedIps: ['10.0.0.0/8', 'fd00::/64'],
      };
      const privateKey = key();
      ns.wireguard.set('wg0', { privateKey, listenPort: 51821, fwmark: 9, peers: [peer] });
      using other = open({ path: `/proc/${process.pid}/fd/${ns.fd}` });
      const shown = other.wireguard.get('wg0', { secrets: true });
      expect(shown).toMatchObject({ name: 'wg0', listenPort: 51_821, fwmark: 9, peers: [peer] });
      // The kernel clears the bits of a private key that the curve does not use.
      expect(Buffer.from(shown.privateKey ?? '', 'base64').subarray(1, 31)).toEqual(
        Buffer.from(privateKey, 'base64').subarray(1, 31),
      );
      expect(JSON.stringify(ns.wireguard.get('wg0'))).not.toContain(peer.presharedKey);
      expect(ns.wireguard.get('wg0')).not.toHaveProperty('privateKey');
      expect(ns.wireguard.get('wg0').publicKey).toMatch(/=$/);
    }));

  it('changes, removes and replaces peers', (context) =>
    withDevice(context, (ns) => {
      const [a, b, c] = [key(), key(), key()];
      const peers = () => ns.wireguard.get('wg0').peers.map(({ publicKey, allowedIps }) => [publicKey, allowedIps]);
      ns.wireguard.set('wg0', {
        privateKey: key(),
        peers: [{ publicKey: a, allowedIps: ['10.0.0.1/32'] }, { publicKey: b }],
      });
      ns.wireguard.set('wg0', {
        peers: [
          { publicKey: a, allowedIps: ['10.0.0.2/32'] },
          { publicKey: b, remove: true },
        ],
      });
      expect(peers()).toEqual([[a, ['10.0.0.2/32']]]);
      ns.wireguard.set('wg0', { peers: [{ publicKey: c, updateOnly: true }] });
      expect(peers()).toHaveLength(1);
      ns.wireguard.set('wg0', { peers: [{ publicKey: c }], replacePeers: true });
      expect(peers()).toEqual([[c, []]]);
    }));

  it('carries more peers and addresses than one message can', (context) =>
    withDevice(context, (ns) => {
      const allowedIps = Array.from({ length: 2500 }, (_, i) => `10.${i >> 8}.${i & 0xff}.1/32`);
      const many = Array.from({ length: 400 }, (_, i) => ({
        publicKey: key(),
        allowedIps: [`11.${i >> 8}.${i & 0xff}.1/32`],
      }));
      const large = { publicKey: key(), allowedIps };
      ns.wireguard.set('wg0', { privateKey: key(), peers: [large, ...many], replacePeers: true });
      const shown = new Map(ns.wireguard.get('wg0').peers.map((peer) => [peer.publicKey, peer.allowedIps.toSorted()]));
      expect(shown.size).toBe(401);
      expect(shown.get(large.publicKey)).toEqual(allowedIps.toSorted());
      for (const peer of many) expect(shown.get(peer.publicKey)).toEqual(peer.allowedIps);
    }));

  it('says that a link is of another kind', (context) =>
    withDevice(context, (ns) => {
      expect(() => ns.wireguard.get('lo')).toThrow('wireguard.get: EOPNOTSUPP');
      expect(() => ns.wireguard.set('wg0', { privateKey: 'short' })).toThrow('32 bytes in base64');
    }));
});
