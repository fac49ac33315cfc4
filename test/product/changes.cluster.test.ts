/** What people change while pods run: labels, attachments, several objects at once. Each ends in exactly the declared state, and no pod restarts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import {
  additionalNetwork,
  bridge,
  pod,
  podConfig,
  podNetworkConfig,
  primaryNetwork,
  type PodNetwork,
  type Source,
} from './objects.ts';
import { isPrivate, openWorld, type World } from './world.ts';

let world: World;

describe.skipIf(!isPrivate)('while pods run', () => {
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.end());

  it('a pod gets its links with the label and loses them with it', async () => {
    const scene = await world.scene('label');
    await scene.apply(podConfig('chosen', { name: 'l0', master: 'lbr0', cidr: '172.30.3.0/24' }));
    await scene.start(pod('one'), pod('other', {}, 'n2'));
    const lives = await scene.lives();
    expect((await scene.ready('podconfig/chosen')).status).toMatchObject({
      phase: 'unset',
      conditions: [{ reason: 'NoPods' }],
    });

    for (const name of ['one', 'other']) await scene.kube('label', 'pod', name, 'podconfig=chosen');
    await eventually(async () => {
      expect(await scene.links('one')).toMatchObject([{ addresses: [expect.stringMatching(/^172\.30\.3\.\d+\/24$/)] }]);
      expect(await scene.links('other')).toHaveLength(1);
    });
    // It was ready before, too, with no pods.
    await eventually(async () => expect((await scene.ready('podconfig/chosen')).status?.phase).toBe('configured'));

    await scene.kube('label', 'pod', 'one', 'podconfig-');
    await scene.kube('label', 'pod', 'other', 'podconfig=another', '--overwrite');
    await eventually(async () => {
      expect(await scene.links('one')).toEqual([]);
      expect(await scene.links('other')).toEqual([]);
      expect(await world.ours()).toEqual([]);
      expect(await scene.kube('get', 'podnetworks', '--output=name')).toBe('');
    });
    expect(await scene.lives()).toEqual(lives);
    await scene.kube('delete', 'podconfig', 'chosen', '--timeout=300s');
    await scene.clean();
  });

  it('attachments are added, changed and removed, and the others stay as they are', async () => {
    const scene = await world.scene('changes');
    await scene.start(pod('one', { podconfig: 'living' }));
    const lives = await scene.lives();
    const first = { name: 'a0', master: 'abr0', cidr: '172.30.4.0/25' };
    const second = { name: 'a1', master: 'abr1', cidr: 'fd00:30:4::/80', mtu: 1300 };
    const mac = '02:00:5e:10:00:07';
    const a0 = { name: expect.stringMatching(/^a0\d+$/) as string, addresses: ['172.30.4.2/25'] };
    const a1 = { name: expect.stringMatching(/^a1\d+$/) as string, addresses: ['fd00:30:4::2/80'], mtu: 1300 };
    const names = new Set<string>();
    const steps: [string, object[], object[]][] = [
      ['one', [first], [{ ...a0, mtu: 1500 }]],
      ['another is added', [first, second], [{ ...a0, mtu: 1500 }, a1]],
      [
        'mtu and alias change',
        [{ ...first, mtu: 1420, alias: 'left' }, second],
        [{ ...a0, mtu: 1420, alias: 'left' }, a1],
      ],
      ['mac changes', [{ ...first, hardwareAddr: mac }, second], [{ ...a0, mtu: 1500, mac }, a1]],
      ['the first goes', [second], [a1]],
      ['all go', [], []],
    ];
    for (const [what, attachments, links] of steps) {
      await scene.apply(podConfig('living', ...attachments));
      await eventually(async () => expect({ what, links: await scene.links('one') }).toMatchObject({ what, links }));
      for (const { name } of await scene.links('one')) names.add(name);
    }
    expect(names.size).toBe(2);
    await eventually(async () => expect(await world.ours()).toEqual([]));
    expect(await scene.lives()).toEqual(lives);
    await scene.kube('delete', 'podconfig', 'living', '--timeout=300s');
    await scene.clean();
  });

  it('several objects choose one pod; what two cannot both have, both show, and the younger gets it when the older goes', async () => {
    const scene = await world.scene('several');
    await scene.start(pod('one', { podconfig: 'mine', podNetworkConfig: 'mine', app: 'cnf' }));
    const lives = await scene.lives();
    const podSelector = { matchLabels: { app: 'cnf' } };
    await scene.apply(podConfig('mine', { name: 's0', master: 'sbr0', cidr: '172.30.5.0/24' }));
    await scene.ready('podconfig/mine');
    await scene.older('podconfig/mine');
    await scene.apply(
      podNetworkConfig('mine', {
        additionalNetworks: [
          {
            networkName: 's1',
            linkType: 'veth',
            master: 'sbr1',
            cidrs: ['172.30.6.0/28', 'fd00:30:6::/64'],
            gateway: 'None',
            addresses: ['172.30.6.9', 'fd00:30:6::9'],
            routes: [
              { to: '198.51.100.0/24', via: '172.30.6.1' },
              { to: '2001:db8:6::/48', via: 'fd00:30:6::1' },
            ],
          },
        ],
      }),
      additionalNetwork('rival', { podSelector, namePrefix: 's0', bridge: 'sbr2', cidr: '172.30.7.0/24' }),
    );
    const { status } = await scene.ready('podnetworkconfig/mine');
    expect(status?.PodNetworkConfigs).toMatchObject([
      {
        podName: 'one',
        configList: [expect.stringMatching(/podIPAddr:172\.30\.6\.9\/28,fd00:30:6::9\/64 .*bridge:sbr1/)],
      },
    ]);
    expect(await scene.links('one')).toMatchObject([
      { addresses: ['172.30.5.2/24'] },
      { addresses: ['172.30.6.9/28', 'fd00:30:6::9/64'] },
    ]);
    expect(await scene.inPod('one', 'ip', 'route')).toMatch(/198\.51\.100\.0\/24 via 172\.30\.6\.1 dev s1\d+/);
    expect(await scene.inPod('one', 'ip', '-6', 'route')).toMatch(/2001:db8:6::\/48 via fd00:30:6::1 dev s1\d+/);
    const bridge = await world.onNode('n1', 'ip', '-o', 'address', 'show', 'dev', 'sbr1');
    expect(bridge.replaceAll(/.*inet6 fe80.*\n/g, '')).toBe('');

    await eventually(async () => {
      expect(await scene.condition('additionalnetwork/rival', 'Ready')).toMatchObject({
        status: 'False',
        reason: 'InterfaceConflict',
        message: expect.stringContaining('PodConfig mine') as string,
      });
      expect(await scene.condition('podconfig/mine', 'Conflict')).toMatchObject({
        status: 'True',
        message: expect.stringContaining('AdditionalNetwork rival') as string,
      });
    });
    expect(await scene.condition('podconfig/mine', 'Ready')).toMatchObject({ status: 'True' });

    await scene.kube('delete', 'podconfig', 'mine', '--timeout=300s');
    await scene.ready('additionalnetwork/rival');
    expect(await scene.links('one')).toMatchObject([
      { addresses: ['172.30.7.2/24'] },
      { addresses: ['172.30.6.9/28', 'fd00:30:6::9/64'] },
    ]);
    await eventually(async () => expect(await scene.condition('additionalnetwork/rival', 'Conflict')).toBeUndefined());
    expect(await scene.lives()).toEqual(lives);
    await scene.kube('delete', 'additionalnetwork/rival', 'podnetworkconfig/mine', '--timeout=300s');
    await scene.clean();
    expect(await scene.inPod('one', 'ip', 'route')).not.toContain('198.51.100.0');
  });

  it('all five kinds choose one pod: it has what each asks for, and with each goes exactly its own', async () => {
    const scene = await world.scene('five');
    await scene.start(pod('one', { podconfig: 'five', podNetworkConfig: 'five', app: 'cnf' }));
    const lives = await scene.lives();
    const podSelector = { matchLabels: { app: 'cnf' } };
    const look = async () => ({
      links: await scene.links('one'),
      primary: /mtu \d+/.exec(await scene.inPod('one', 'ip', 'link', 'show', 'eth0'))?.[0],
      routes: (await scene.inPod('one', 'ip', 'route')).includes('198.51.100.0/24 via 172.30.21.1 dev five2'),
      bridges: (await world.bridges('n1')).filter(({ name }) => name.startsWith('five')),
    });
    const bare = await look();
    const routes = [{ to: '198.51.100.0/24', via: '172.30.21.1' }];
    await scene.apply(
      bridge('five', { name: 'fivebr0', cidr: '172.30.19.0/24', mtu: 1400 }),
      podConfig('five', { name: 'five0', master: 'fivebr0' }),
      podNetworkConfig('five', {
        additionalNetworks: [{ networkName: 'five1', master: 'fivebr1', cidr: 'fd00:30:20::/64' }],
      }),
      additionalNetwork('five', { podSelector, name: 'five2', bridge: 'fivebr2', cidr: '172.30.21.0/24', routes }),
      primaryNetwork('five', { podSelector, mtuBytes: 1410 }),
    );
    const kinds = ['bridge', 'podconfig', 'podnetworkconfig', 'additionalnetwork', 'primarynetwork'];
    await eventually(async () => {
      for (const kind of kinds) {
        expect(await scene.condition(`${kind}/five`, 'Ready')).toMatchObject({ status: 'True', reason: 'Configured' });
      }
    });
    const whole = await look();
    expect(whole).toMatchObject({
      links: [
        { name: expect.stringMatching(/^five0\d+$/), addresses: ['172.30.19.2/24'] },
        { name: expect.stringMatching(/^five1\d+$/), addresses: ['fd00:30:20::2/64'] },
        { name: 'five2', addresses: ['172.30.21.2/24'] },
      ],
      primary: 'mtu 1410',
      routes: true,
      bridges: [
        { name: 'fivebr0', mtu: 1400, addresses: ['172.30.19.1/24'] },
        { name: 'fivebr1', mtu: 1500, addresses: ['fd00:30:20::1/64'] },
        { name: 'fivebr2', mtu: 1500, addresses: ['172.30.21.1/24'] },
      ],
    });

    const [first, second, third] = whole.links;
    const [bridge0, bridge1, bridge2] = whole.bridges;
    // Without its Bridge the PodConfig still has its link on it, with no range to have an address of, nor a MAC that would follow from one.
    const unaddressed = { ...first, addresses: [], mac: expect.any(String) as string };
    const rest = { ...whole, links: [second, third], bridges: [bridge1, bridge2] };
    const steps: [string, object][] = [
      [
        'bridge',
        {
          ...whole,
          links: [unaddressed, second, third],
          bridges: [{ ...bridge0, mtu: 1500, addresses: [] }, bridge1, bridge2],
        },
      ],
      ['podconfig', rest],
      ['primarynetwork', { ...rest, primary: bare.primary }],
      ['podnetworkconfig', { ...bare, links: [third], routes: true, bridges: [bridge2] }],
      ['additionalnetwork', bare],
    ];
    for (const [kind, left] of steps) {
      await scene.kube('delete', kind, 'five', '--timeout=300s');
      await eventually(async () => expect({ without: kind, ...(await look()) }).toEqual({ without: kind, ...left }));
    }
    expect(await scene.lives()).toEqual(lives);
    await scene.clean();
  });

  it('a Bridge is made on every node that needs it, says where, and goes from each when nobody needs it there', async () => {
    const scene = await world.scene('bridge');
    const lan = { name: 'lan0', cidr: '172.30.22.0/24' };
    await scene.apply(bridge('lan', { ...lan, mtu: 1400 }), podConfig('lan', { name: 'm0', master: 'lan0' }));
    await scene.start(pod('one', { podconfig: 'lan' }), pod('two', { podconfig: 'lan' }, 'n2'));
    const onNodes = async () =>
      (await Promise.all(['n1', 'n2'].map((node) => world.bridges(node)))).map((all) =>
        all.filter(({ name }) => name === 'lan0'),
      );
    const says = async (...nodes: string[]): Promise<void> => {
      const { metadata, status } = await scene.get<Source>('bridge/lan');
      const { generation: observedGeneration } = metadata;
      expect(status).toMatchObject({
        phase: 'configured',
        observedGeneration,
        conditions: [{ type: 'Ready', status: 'True', observedGeneration }],
      });
      expect(status?.bridgeConfigs ?? []).toEqual(
        nodes.map((nodeName) => ({ nodeName, device: 'lan0', addresses: ['172.30.22.1/24'], ports: 1 })),
      );
    };
    for (const mtu of [1400, 1300]) {
      await scene.apply(bridge('lan', { ...lan, mtu }));
      const device = { mtu, addresses: ['172.30.22.1/24'] };
      await eventually(async () => {
        await says('n1', 'n2');
        expect(await onNodes()).toMatchObject([[device], [device]]);
      });
    }
    expect((await scene.get<Source>('bridge/lan')).metadata.generation).toBe(2);
    for (const name of ['one', 'two']) await scene.reaches(name, '172.30.22.1');
    await eventually(async () =>
      expect(await scene.kube('describe', 'bridge', 'lan')).toMatch(
        /Events:\n[^]*Normal +Configured .*podloom-network-operator .*as declared/,
      ),
    );

    await scene.kube('label', 'pod', 'one', 'podconfig-');
    await eventually(async () => {
      await says('n2');
      expect(await onNodes()).toMatchObject([[], [{ mtu: 1300 }]]);
    });
    await scene.kube('label', 'pod', 'two', 'podconfig-');
    await eventually(async () => {
      await says();
      expect(await onNodes()).toEqual([[], []]);
    });
    await scene.kube('delete', 'bridge/lan', 'podconfig/lan', '--timeout=300s');
    await scene.clean();
  });

  it('the primary link is changed, what was before is written down, and comes back', async () => {
    const scene = await world.scene('primary');
    await scene.start(pod('one', { app: 'cnf' }));
    const lives = await scene.lives();
    const look = async (): Promise<string> =>
      (
        await scene.inPod('one', 'sh', '-c', 'ip link show eth0; ip route; cat /proc/sys/net/ipv4/conf/eth0/rp_filter')
      ).replaceAll(/ state \w+/g, '');
    const before = await look();
    const spec = { podSelector: { matchLabels: { app: 'cnf' } }, mtuBytes: 1400, txQueueLength: 77 };
    const gateway = /default via (\S+)/.exec(before)?.[1] ?? '';
    const routes = [{ to: '203.0.113.0/24', via: gateway }];
    await scene.apply(primaryNetwork('faster', { ...spec, sysctls: { 'net.ipv4.conf.rp_filter': '2' }, routes }));
    await scene.ready('primarynetwork/faster');
    const during = await look();
    expect(during).toMatch(/ mtu 1400 .* qlen 77\b/);
    expect(during).toContain(`203.0.113.0/24 via ${gateway} dev eth0`);
    expect(during.trim().endsWith('2')).toBe(true);
    const { status } = await scene.get<PodNetwork>('podnetwork', 'one');
    expect(status?.primary).toMatchObject({
      before: { mtuBytes: 1500, sysctls: { 'net.ipv4.conf.rp_filter': before.trim().split('\n').at(-1) } },
      applied: { mtuBytes: 1400, txQueueLength: 77 },
    });

    await scene.apply(primaryNetwork('faster', { ...spec, mtuBytes: 1300, txQueueLength: 77 }));
    await eventually(async () => expect(await look()).toMatch(/ mtu 1300 /));
    await eventually(async () => expect(await look()).not.toContain('203.0.113.0'));
    await scene.kube('delete', 'primarynetwork', 'faster', '--timeout=300s');
    expect(await look()).toBe(before);

    await scene.apply(primaryNetwork('amiss', { ...spec, interfaceName: 'eth9' }));
    await eventually(async () =>
      expect(await scene.condition('primarynetwork/amiss', 'Ready')).toMatchObject({
        status: 'False',
        reason: 'PrimaryLinkMissing',
        message: expect.stringContaining('eth9') as string,
      }),
    );
    await scene.kube('delete', 'primarynetwork', 'amiss', '--timeout=300s');
    expect(await scene.lives()).toEqual(lives);
    await scene.clean();
  });

  it('a pod waits where a range is full but for what is excluded, and gets its address when the range grows', async () => {
    const scene = await world.scene('full');
    const exclude = ['172.30.8.2/32', '172.30.8.4/31', '172.30.8.6/32'];
    const attachment = { name: 'f0', master: 'fbr0', cidr: '172.30.8.0/29', exclude };
    await scene.start(pod('one', { podconfig: 'small' }));
    await scene.apply(podConfig('small', attachment));
    await scene.ready('podconfig/small');
    await scene.start(pod('one', { podconfig: 'small' }), pod('two', { podconfig: 'small' }));
    const lives = await scene.lives();
    await eventually(async () =>
      expect(await scene.condition('podconfig/small', 'Exhausted')).toMatchObject({
        status: 'True',
        message: expect.stringContaining('172.30.8.0/29') as string,
      }),
    );
    expect(await scene.condition('podconfig/small', 'Ready')).toMatchObject({ status: 'False', reason: 'Exhausted' });
    expect(await scene.links('one')).toMatchObject([{ addresses: ['172.30.8.3/29'] }]);
    expect(await scene.links('two')).toEqual([]);
    expect(await scene.kube('get', 'ippools')).toMatch(
      /^NAME +NETWORK +CIDR +FIRST +LAST +USED +FREE +AGE\n\S+ +fbr0 +172\.30\.8\.0\/29 +172\.30\.8\.0 +172\.30\.8\.7 +1 +0 +\S+\n$/,
    );
    for (const range of exclude) expect(await scene.kube('describe', 'ippools')).toContain(range);
    // Whoever looks at the pod finds it, too.
    await eventually(async () => {
      expect(await scene.kube('get', 'podnetworks')).toMatch(/^two .* False +Exhausted /m);
      const { stdout } = await world.podloom(['show', 'two', '--namespace', scene.namespace]);
      expect(stdout).toMatch(/\[Waiting\] Exhausted: .*\n.*from PodConfig small/);
    });

    await scene.apply(podConfig('small', { ...attachment, cidr: '172.30.8.0/28' }));
    await scene.ready('podconfig/small');
    const found = [...(await scene.links('one')), ...(await scene.links('two'))].flatMap(({ addresses }) => addresses);
    expect(found).toEqual(['172.30.8.3/28', expect.stringMatching(/^172\.30\.8\.([7-9]|1[0-4])\/28$/)]);
    expect(await scene.lives()).toEqual(lives);
    await scene.kube('delete', 'podconfig', 'small', '--timeout=300s');
    await scene.clean();
  });

  it('a gateway that the node reaches elsewhere is not taken from there', async () => {
    const [first, second] = [await world.scene('first'), await world.scene('second')];
    const attachment = { name: 'g0', master: 'gbr0', cidr: '172.30.9.0/24' };
    for (const scene of [first, second]) await scene.start(pod('one', { podconfig: 'same' }));
    const lives = await second.lives();
    await first.apply(podConfig('same', attachment));
    await first.ready('podconfig/same');
    await first.reaches('one', '172.30.9.1');

    await second.apply(podConfig('same', attachment));
    await eventually(async () =>
      expect(await second.condition('podconfig/same', 'Ready')).toMatchObject({
        status: 'False',
        reason: 'GatewayTaken',
        message: expect.stringContaining('172.30.9.1') as string,
      }),
    );
    expect(await second.kube('get', 'podnetworks')).toMatch(/^one .* False +GatewayTaken /m);
    expect(await second.links('one')).toEqual([]);
    const refused = /Warning +GatewayTaken +.*172\.30\.9\.1 cannot be a gateway on this node/;
    await eventually(async () => {
      for (const kind of ['pod', 'podnetwork']) expect(await second.kube('describe', kind, 'one')).toMatch(refused);
      expect(await second.kube('describe', 'podconfig', 'same')).toMatch(refused);
    });
    await first.reaches('one', '172.30.9.1');

    await second.apply(podConfig('same', { ...attachment, gateway: 'None' }));
    await second.ready('podconfig/same');
    expect(await second.links('one')).toMatchObject([{ addresses: [expect.stringMatching(/^172\.30\.9\.\d+\/24$/)] }]);
    await first.reaches('one', '172.30.9.1');
    // What was amiss stays to be read, and that it is over.
    await eventually(async () => {
      const story = await second.kube('describe', 'podconfig', 'same');
      for (const part of [/Status: +True\n +Type: +Ready\n/, refused, /Normal +Configured .*1 pod is as declared/]) {
        expect(story).toMatch(part);
      }
    });
    expect(await second.kube('describe', 'podnetwork', 'one')).toMatch(
      /State: +Attached\n[^]*Events:\n[^]*GatewayTaken .*podloom-agent/,
    );
    expect(await second.lives()).toEqual(lives);
    for (const scene of [second, first]) await scene.kube('delete', 'podconfig', 'same', '--timeout=300s');
    await second.clean();
    await first.clean();
  });
});
