/** The view against the real kernel. Only that it interrupts an answer cannot be had on demand, and is thrown here. */
import { type Netns, NetlinkError, open } from '@podloom/netlink';
import { linkGroup } from '@podloom/network';
import { describe, expect, it, vi } from 'vitest';
import { nodeView } from './node.ts';

const interrupt = (): never => {
  throw new NetlinkError('list', 4);
};

describe('a view of the node that could not be read to the end', () => {
  it.each<[string, (node: Netns) => void]>([
    [
      'a link',
      ({ link, link: { outline } }) =>
        void vi.spyOn(link, 'outline').mockImplementation((ref) => (ref === 'b' ? interrupt() : outline(ref))),
    ],
    ['the routes', ({ route }) => void vi.spyOn(route, 'list').mockImplementation(interrupt)],
  ])('is as the kernel is, and tells all news once, when %s can be read again', (_, hinder) => {
    using node = open({ create: true });
    for (const name of ['a', 'b', 'c']) node.link.add({ kind: 'bridge', name, group: linkGroup });
    const view = nodeView(node);
    const mtus = (): unknown[] =>
      view.current().links.flatMap(({ kind, mtuBytes }) => (kind === 'bridge' ? mtuBytes : []));
    view.news();
    expect(mtus()).toEqual([1500, 1500, 1500]);

    for (const name of ['a', 'b', 'c']) {
      node.link.set(name, { mtu: 1400 });
      view.touch(name);
    }
    view.touchRouting();
    hinder(node);
    expect(() => view.current()).toThrow('EINTR');
    expect(() => view.news()).toThrow('EINTR');
    vi.restoreAllMocks();
    expect(mtus()).toEqual([1400, 1400, 1400]);
    const told = view.news().links.map(({ old, now }) => [now?.name, old?.mtuBytes]);
    expect(told).toEqual(['a', 'b', 'c'].map((name) => [name, 1500]));
    expect(view.news().links).toEqual([]);
  });
});
