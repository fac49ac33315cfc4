/** Settings of the IP families against `ip netconf`. */
import { describe, expect, it } from 'vitest';
import { open } from '../namespace.ts';
import { isFallbackDevice, jsonTool } from '../testing/oracle.ts';
import { AF_INET, AF_INET6 } from './numbers.ts';

const isOurs = (one: { interface: unknown }): boolean => !isFallbackDevice(one.interface);

describe('netconf', () => {
  it('shows what ip shows, of all links, of those to come and of each', () => {
    using ns = open({ create: true });
    ns.link.add({ kind: 'bridge', name: 'br0' });
    ns.sysctl.set('ipv4/conf/br0/forwarding', 1);
    ns.sysctl.set('ipv6/conf/br0/forwarding', 0);
    const listed = ns.netconf.list();
    const names = new Map(ns.link.list().map((link) => [link.index, link.name]));
    const ours = listed
      .map((one) => ({
        family: one.family === AF_INET ? 'inet' : 'inet6',
        interface: typeof one.of === 'number' ? names.get(one.of) : one.of,
        forwarding: one.forwarding === 1,
      }))
      .filter(isOurs);
    const theirs = ['-4', '-6'].flatMap((family) => jsonTool(ns, `ip ${family} -json netconf show`));
    const seen = theirs
      .map(({ family, interface: name, forwarding }) => ({ family, interface: name, forwarding }))
      .filter(isOurs);
    expect(ours).toHaveLength(seen.length);
    expect(ours).toEqual(expect.arrayContaining(seen));
    expect(ns.netconf.get({ family: AF_INET, of: 'br0' })).toMatchObject({ forwarding: 1, rpFilter: 0 });
    expect(ns.netconf.get({ family: AF_INET6, of: 'default' })).toMatchObject({ of: 'default', forwarding: 0 });
  });
});
