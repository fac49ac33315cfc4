/** What happens to pods and to their links without anyone asking us: restarts, a new pod under an old name, hands that reach in. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { pod, podConfig, podSpec, type Source } from './objects.ts';
import { isPrivate, openWorld, type World } from './world.ts';

let world: World;

describe.skipIf(!isPrivate)('a pod with networks', () => {
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.end());

  it('keeps its links and their names when its container restarts, also where a name is too long for the kernel', async () => {
    const scene = await world.scene('restart');
    await scene.start(pod('one', { podconfig: 'kept' }));
    const short = { name: 'k0', master: 'kbr0', cidr: '172.30.9.0/24' };
    // A link name has 15 bytes, and the process id comes after these.
    const long = { name: 'kept-for-long', master: 'kbr2', cidr: 'fd00:30:9::/64' };
    await scene.apply(podConfig('kept', short, long));
    await scene.ready('podconfig/kept');
    const before = await scene.links('one');
    const hashed = before[1]?.name ?? '';
    expect(hashed).toMatch(/^p[0-9a-f]{14}$/);
    const port = (await scene.network('one')).status?.interfaces?.[1]?.hostName;
    expect(port).toMatch(/^h[0-9a-f]{14}$/);
    const status = await scene.kube('get', 'podconfig', 'kept', '--output=jsonpath={.status.podConfigurations}');
    await scene.endContainer('one');
    await eventually(async () => {
      const [found] = await scene.pods();
      expect(found?.status.containerStatuses).toMatchObject([{ restartCount: 1, ready: true }]);
    });
    expect(await scene.links('one')).toEqual(before);
    for (const gateway of ['172.30.9.1', 'fd00:30:9::1']) await scene.reaches('one', gateway);
    await scene.apply(
      podConfig('kept', { ...short, mtu: 1400 }, { ...long, mtu: 1400 }, { name: 'k1', master: 'kbr1' }),
    );
    await eventually(async () => {
      expect(await scene.links('one')).toMatchObject([
        { name: before[0]?.name, mtu: 1400, addresses: before[0]?.addresses },
        { name: before[0]?.name.replace('k0', 'k1'), addresses: [] },
        { name: hashed, mtu: 1400, addresses: before[1]?.addresses },
      ]);
      const ports = await world.onNode('n1', 'ip', '-o', 'link', 'show', 'master', 'kbr2');
      expect(ports).toMatch(new RegExp(`^\\d+: ${port}@.* mtu 1400 `));
    });
    await scene.apply(podConfig('kept', short, long));
    await eventually(async () =>
      expect(await scene.kube('get', 'podconfig', 'kept', '--output=jsonpath={.status.podConfigurations}')).toBe(
        status,
      ),
    );
    await scene.kube('delete', 'podconfig', 'kept', '--timeout=300s');
    await scene.clean();
  });

  it('is another pod when it comes back under the same name, and gets networks of its own', async () => {
    const scene = await world.scene('again');
    const labels = { podconfig: 'again' };
    const [old] = await scene.start(pod('one', labels));
    await scene.apply(podConfig('again', { name: 'g0', master: 'gbr0', cidr: '172.30.10.0/24' }));
    await scene.ready('podconfig/again');
    const [oldLink] = await scene.links('one');
    await scene.kube('delete', 'pod', 'one', '--wait', '--timeout=300s');
    const [young] = await scene.start(pod('one', labels, 'n2'));
    expect(young?.metadata.uid).not.toBe(old?.metadata.uid);
    await eventually(async () => {
      const network = await scene.network('one');
      expect(network.spec).toMatchObject({ podUid: young?.metadata.uid, nodeName: 'n2' });
      const [link, ...more] = await scene.links('one');
      expect(more).toEqual([]);
      expect(link?.name).toBe(`g0${network.status?.podPid}`);
      // The address of the one before has to cool down.
      expect(link?.addresses).not.toEqual(oldLink?.addresses);
    });
    await eventually(async () => expect((await world.ours()).filter((line) => line.startsWith('n1 '))).toEqual([]));
    await scene.ready('podconfig/again');
    await scene.kube('delete', 'podconfig', 'again', '--timeout=300s');
    await scene.clean();
  });

  it('may be forced away while its PodConfig goes, and nothing stays', async () => {
    const scene = await world.scene('forced');
    await scene.start(pod('one', { podconfig: 'brief' }), pod('two', { podconfig: 'brief' }));
    await scene.apply(podConfig('brief', { name: 'b0', master: 'bbr0', cidr: '172.30.11.0/24' }));
    await scene.ready('podconfig/brief');
    await Promise.all([
      scene.kube('delete', 'pod', 'one', '--grace-period=0', '--force', '--wait=false'),
      scene.kube('delete', 'podconfig', 'brief', '--timeout=300s'),
    ]);
    await scene.clean();
    expect((await scene.pods()).map(({ metadata }) => metadata.name)).toEqual(['two']);
  });

  it('gives everything back when it ends, although its object stays', async () => {
    const scene = await world.scene('ends');
    await scene.start({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'once', labels: { podconfig: 'work' } },
      spec: { ...podSpec('n2'), restartPolicy: 'Never' },
    });
    await scene.apply(podConfig('work', { name: 'o0', master: 'obr0', cidr: '172.30.18.0/24' }));
    await scene.ready('podconfig/work');
    expect(await scene.links('once')).toHaveLength(1);
    await scene.endContainer('once');
    await eventually(async () => {
      expect((await scene.pods()).map(({ status }) => status.phase)).toEqual(['Succeeded']);
      expect(await scene.kube('get', 'podnetworks', '--output=name')).toBe('');
      expect(await world.ours()).toEqual([]);
      expect((await scene.get<Source>('podconfig/work')).status).toMatchObject({
        phase: 'unset',
        podConfigurations: [],
      });
    });
    await eventually(async () => expect(await scene.kube('get', 'ippools')).toMatch(/172\.30\.18\.0\/24 .* 0 +\d+ /));
    await scene.kube('delete', 'podconfig', 'work', '--timeout=300s');
    await eventually(() => scene.holdsNothing());
  });

  it('has its links mended when someone reaches in from the node, and an Event says so', async () => {
    const scene = await world.scene('drift');
    await scene.start(pod('one', { podconfig: 'firm' }));
    await scene.apply(podConfig('firm', { name: 'd0', master: 'dbr0', cidr: '172.30.12.0/24', mtu: 1400 }));
    await scene.ready('podconfig/firm');
    const lives = await scene.lives();
    const network = await scene.network('one');
    const [link] = await scene.links('one');
    const name = link?.name ?? '';
    const state = async (): Promise<unknown> => ({
      links: await scene.links('one'),
      port: (await world.onNode('n1', 'ip', '-o', 'link', 'show', `h${name}`)).includes('master dbr0 '),
      gateway: (await world.onNode('n1', 'ip', '-o', 'address', 'show', 'dev', 'dbr0')).includes('172.30.12.1/24'),
      answer: (await scene.inPod('one', 'ping', '-c', '1', '-W', '1', '172.30.12.1')).includes('1 received'),
    });
    const good = await eventually(state);
    expect(good).toMatchObject({ port: true, gateway: true, answer: true });
    const hands: [string, () => Promise<string>][] = [
      ['link deleted', () => world.asRootIn(network, 'ip', 'link', 'delete', name)],
      ['address removed', () => world.asRootIn(network, 'ip', 'address', 'flush', 'dev', name)],
      ['mtu changed', () => world.asRootIn(network, 'ip', 'link', 'set', name, 'mtu', '1280')],
      ['port taken off', () => world.onNode('n1', 'ip', 'link', 'set', `h${name}`, 'nomaster')],
      ['gateway removed', () => world.onNode('n1', 'ip', 'address', 'delete', '172.30.12.1/24', 'dev', 'dbr0')],
      ['bridge deleted', () => world.onNode('n1', 'ip', 'link', 'delete', 'dbr0')],
    ];
    for (const [what, reach] of hands) {
      await reach();
      await eventually(async () => expect([what, await state().catch(String)]).toEqual([what, good]));
    }
    await eventually(async () => {
      for (const kind of ['pod', 'podnetwork']) {
        const events = await scene.kube('describe', kind, 'one');
        expect(events).toMatch(/Events:\n[^]*Warning +DriftRepaired .*Otherwise than declared; mended by: /);
      }
    });
    expect(await scene.lives()).toEqual(lives);
    await scene.kube('delete', 'podconfig', 'firm', '--timeout=300s');
    await scene.clean();
  });
});
