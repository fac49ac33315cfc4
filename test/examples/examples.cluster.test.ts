/** Every example, by the words of its README, on a cluster of two nodes with the product from its image and chart. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { commandsFor, type Commands } from '../chart/installed.ts';
import { ensureProduct } from '../chart/product.ts';
import { openNodes } from '../product/nodes.ts';
import { eventually } from '../setup/eventually.ts';
import { loadExampleImage, readerOf } from './readme.ts';

interface PodItem {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly nodeName: string };
  readonly status: { readonly containerStatuses?: readonly { readonly restartCount: number }[] };
}

let cluster: Commands;

const podsOf = async (namespace: string): Promise<PodItem[]> =>
  (await cluster.get<{ items: PodItem[] }>('pods', '-n', namespace)).items;
const inPod = (namespace: string, pod: string, ...command: string[]): Promise<string> =>
  cluster.kube(['exec', '-n', namespace, pod, '--', ...command]);
/** Of three packets the first may be lost. */
const answered = /[1-3] received/;
const reaches = (namespace: string, pod: string, address: string): Promise<void> =>
  eventually(async () =>
    expect(await inPod(namespace, pod, 'ping', '-c', '1', '-W', '5', address)).toContain('1 received'),
  );
const removed = (namespace: string): void =>
  onTestFinished(async () => {
    await cluster.kubectl(['delete', 'namespace', namespace, '--ignore-not-found', '--wait', '--timeout=300s']);
  });

/** The images that examples name are on the nodes of a private cluster only. */
describe.skipIf(inject('clusterName') === '')('the examples', () => {
  beforeAll(async () => {
    cluster = await commandsFor(inject('kubeconfig'));
    await Promise.all([ensureProduct(), loadExampleImage()]);
  });

  it('are all here', () => {
    const folders = readdirSync(join(import.meta.dirname, '../../examples'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
    expect(folders.toSorted()).toEqual(['additional-network', 'bridge', 'labs', 'mtu', 'podagent', 'podconfig']);
  });

  it('podconfig: two networks in two unprivileged pods, which reach each other and the bridges', async () => {
    const namespace = 'cnf-test';
    removed(namespace);
    const reader = await readerOf('podconfig');
    await reader.next('apply -f');
    await reader.next('=configured');
    const status = await reader.next('-o yaml');
    expect(
      status.match(/\{podVethName:pc0\d+ podIPAddr:192\.168\.100\.\d+\/24 peerVethName:hpc0\d+ bridge:pcbr0\}/g),
    ).toHaveLength(2);
    expect(
      status.match(/\{podVethName:pc1\d+ podIPAddr:192\.168\.99\.\d+\/24 peerVethName:hpc1\d+ bridge:pcbr1\}/g),
    ).toHaveLength(2);
    expect((await reader.next('get podnetworks')).match(/pc0\d+,\s?pc1\d+/g)).toHaveLength(2);
    expect(await reader.next('ip address')).toMatch(/pc0\d+@[\s\S]*pc1\d+@/);
    expect(await reader.next('ping -c 3 192.168.100.1')).toMatch(answered);

    const pods = await podsOf(namespace);
    expect(pods).toHaveLength(2);
    for (const range of ['192.168.100', '192.168.99']) {
      const addresses = [...status.matchAll(new RegExp(`podIPAddr:(${range.replaceAll('.', '\\.')}\\.\\d+)`, 'g'))].map(
        ([, one]) => one ?? '',
      );
      expect(new Set(addresses).size).toBe(2);
      for (const { metadata } of pods) {
        for (const address of [...addresses, `${range}.1`]) {
          await reaches(namespace, metadata.name, address);
        }
      }
    }
    await reader.next('delete -f');
    expect(reader.left).toEqual([]);
  });

  it('mtu: a tenant with a Role on one kind changes the primary link, restarts nothing and gets the old value back', async () => {
    const namespace = 'cnf-telco';
    removed(namespace);
    const reader = await readerOf('mtu');
    await reader.next('tenant.yaml');
    await reader.next('rollout status');
    const before = await podsOf(namespace);
    const mtuOf = async (pod: string): Promise<string> =>
      (await inPod(namespace, pod, 'cat', '/sys/class/net/eth0/mtu')).trim();
    const old = await Promise.all(before.map(({ metadata }) => mtuOf(metadata.name)));
    expect(old).not.toContain('1400');

    await reader.next('mtu.yaml --as=');
    await reader.next('=configured');
    expect(await reader.next('ip link show eth0')).toContain('mtu 1400');
    expect(await Promise.all(before.map(({ metadata }) => mtuOf(metadata.name)))).toEqual(['1400', '1400']);
    expect(await reader.nextFails('get pods --as=')).toContain('orbidden');
    const others = [
      ...['podconfigs', 'bridges', 'primarynetworks', 'podnetworks', 'secrets'].map((kind) => `get ${kind}`),
      'delete podnetworks --all',
      'delete pods --all',
      'create configmap mine',
      'label namespace cnf-telco mine=yes',
      'create deployment mine --image=none',
      '-n default get podnetworkconfigs',
      '-n default apply -f -',
    ];
    const elsewhere = `{"apiVersion":"podnetwork.opdev.io/v1alpha1","kind":"PodNetworkConfig","metadata":{"name":"mtu"},"spec":{}}`;
    for (const command of others) {
      const { code, output } = await reader.shell(`echo '${elsewhere}' | kubectl -n ${namespace} ${command} --as=$as`);
      expect({ command, code, output }).toEqual({ command, code: 1, output: expect.stringContaining('orbidden') });
    }
    expect(await reader.next('get podnetworks -o yaml')).toContain(`before:\n        mtuBytes: ${old[0]}`);
    await reader.next('delete -f');
    await eventually(async () => {
      expect(await Promise.all(before.map(({ metadata }) => mtuOf(metadata.name)))).toEqual(old);
    });
    const after = await podsOf(namespace);
    expect(after.map(({ metadata }) => metadata.uid).toSorted()).toEqual(
      before.map(({ metadata }) => metadata.uid).toSorted(),
    );
    expect(after.flatMap(({ status }) => status.containerStatuses?.map(({ restartCount }) => restartCount))).toEqual([
      0, 0,
    ]);
    expect(reader.left).toEqual([]);
  });

  it('bridge: pods are plugged into a bridge of its own, which is on their node only and gone with the last of them', async () => {
    const namespace = 'cnf-bridge';
    removed(namespace);
    const reader = await readerOf('bridge');
    await reader.next('apply -f');
    await reader.next('ports}');
    const status = await reader.next('-o yaml');
    expect(status).toMatch(/device: backend0/);
    expect(status).toContain('172.31.7.1/24');
    expect(await reader.next('ip address show backend')).toMatch(/mtu 1400[\s\S]*inet 172\.31\.7\.\d+\/24/);
    expect(await reader.next('ping')).toMatch(answered);
    const [first, second] = await podsOf(namespace);
    const shown = await inPod(namespace, second?.metadata.name ?? '', 'ip', '-4', '-o', 'address', 'show', 'backend');
    const address = /inet ([\d.]+)/.exec(shown)?.[1] ?? '';
    await reaches(namespace, first?.metadata.name ?? '', address);

    const nodes = await openNodes(inject('clusterName'));
    const withDevice = async (): Promise<string[]> => {
      const links = await Promise.all(nodes.names.map((node) => nodes.onNode(node, 'ip', '-o', 'link')));
      return nodes.names.filter((_, i) => / backend0: /.test(links[i] ?? ''));
    };
    expect(await withDevice()).toEqual([first?.spec.nodeName]);
    await cluster.kube(['scale', '-n', namespace, 'deploy/backend', '--replicas=0']);
    await eventually(async () => expect(await withDevice()).toEqual([]));
    expect(await cluster.kube(['get', '-n', namespace, 'bridge', '--output=name'])).toContain('backend');
    await reader.next('delete -f');
    expect(reader.left).toEqual([]);
  });

  it('additional-network: both families, chosen addresses and routes', async () => {
    const namespace = 'cnf-dual';
    removed(namespace);
    const reader = await readerOf('additional-network');
    await reader.next('apply -f');
    await reader.next('--for=create');
    await reader.next('condition=Ready');
    const shown = await reader.next('ip address show sig0');
    expect(shown).toContain('inet 172.31.8.20/24');
    expect(shown).toContain('inet6 fd00:31:8::20/64');
    expect(await reader.next('ip route')).toContain('203.0.113.0/24 via 172.31.8.1 dev sig0');
    expect(await inPod(namespace, 'signalling', 'ip', '-6', 'route')).toContain(
      '2001:db8:113::/48 via fd00:31:8::1 dev sig0',
    );
    expect(await reader.next('ping')).toMatch(answered);
    expect(await reader.next('get ippools')).toMatch(
      /172\.31\.8\.0\/24[\s\S]*fd00:31:8::\/64|fd00:31:8::\/64[\s\S]*172\.31\.8\.0\/24/,
    );
    await reader.next('delete -f');
    expect(reader.left).toEqual([]);
  });

  it('podagent: a network by annotation, made by a CNI plugin in a running pod, and gone with the annotation', async () => {
    const namespace = 'cnf-data';
    removed(namespace);
    const reader = await readerOf('podagent');
    const restarts = async () =>
      (await podsOf(namespace)).map(({ status }) => status.containerStatuses?.[0]?.restartCount);
    await reader.next('apply -f');
    await reader.next('rollout status');
    await reader.next('annotate pod');
    await reader.next('--for=create');
    await reader.next('condition=Ready');
    expect(await reader.next('ip address show')).toMatch(/inet 10\.44\.0\.\d+\/24/);
    await reader.next('networks-');
    await reader.next('--for=delete');
    expect(await reader.next('ip -o link')).not.toContain('net8d777f385d3d');
    expect(await reader.next('podloom attach')).toMatch(/net8d777f385d3d/);
    await reader.next('podloom detach');
    expect(await restarts()).toEqual([0, 0]);
    await reader.next('delete -f');
    expect(reader.left).toEqual([]);
  });
});
