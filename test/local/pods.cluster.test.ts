/** What a pod may expect of the private cluster: neighbours, services, names, and a node that looks like a node. */
import {
  createClient,
  deployments,
  loadConfig,
  namespaces,
  pods,
  services,
  type Client,
  type Pod,
} from '@podloom/kube';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';

/** On a machine that does much else, facts take their time. */
const soon = { timeout: 300_000, interval: 100 };
const namespace = `local-${process.pid}`;
const image = inject('toolsImage');
let client: Client;

/** Made for the private cluster, where the names of nodes and the image are known. */
describe.skipIf(inject('clusterName') === '')('pods of the private cluster', () => {
  beforeAll(async () => {
    client = createClient(await loadConfig({ path: inject('kubeconfig') }));
    await client.create(namespaces, { metadata: { name: namespace } });
  });

  afterAll(async () => {
    await client.delete(namespaces, namespace);
    await client.close();
  });

  it('reach each other on both nodes, by ping without any capability and by a service name', async () => {
    for (const node of ['n1', 'n2']) await client.create(pods, webPod(node), { namespace });
    await client.create(
      services,
      { metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] } },
      { namespace },
    );
    const [first, second] = [await running('web-n1'), await running('web-n2')];
    expect(first.status?.hostIP).not.toBe(second.status?.hostIP);

    for (const target of [first, second]) {
      await vi.waitFor(async () => {
        const { exitCode, stdout } = await inPod('web-n1', ['ping', '-c', '1', '-W', '5', target.status?.podIP ?? '']);
        expect(stdout).toContain('1 received');
        expect(exitCode).toBe(0);
      }, soon);
    }

    const answered = new Set<string>();
    await vi.waitFor(async () => {
      const { stdout, exitCode } = await inPod('web-n2', ['wget', '-qO-', 'http://web']);
      if (exitCode === 0) answered.add(stdout.trim());
      expect(answered).toEqual(new Set(['web-n1', 'web-n2']));
    }, soon);
  });

  it('find the API server by its name', async () => {
    await vi.waitFor(async () => {
      const { stdout } = await inPod('web-n2', ['nc', '-zv', '-w', '5', 'kubernetes.default', '443'], true);
      expect(stdout).toContain('succeeded');
    }, soon);
  });

  it('see sockets and CNI of their own node at the same place on every node', async () => {
    const subnets: string[] = [];
    for (const node of ['n1', 'n2']) {
      await client.create(pods, nodePod(node), { namespace });
      await running(`node-${node}`);
      const { stdout } = await inPod(`node-${node}`, ['cat', '/host/etc/cni/net.d/10-podloom.conflist']);
      subnets.push(/"subnet": "([^"]+)"/.exec(stdout)?.[1] ?? '');
      const sockets = ['/host/run/containerd/containerd.sock', '/host/run/nri/nri.sock'];
      for (const socket of sockets) expect((await inPod(`node-${node}`, ['test', '-S', socket])).exitCode).toBe(0);
      expect((await inPod(`node-${node}`, ['hostname'])).stdout.trim()).toBe(node);
    }
    expect(new Set(subnets).size).toBe(2);
    expect(subnets).not.toContain('');
  });

  it('are made by controllers and spread by the scheduler', async () => {
    const labels = { app: 'spread' };
    await client.create(
      deployments,
      {
        metadata: { name: 'spread' },
        spec: {
          replicas: 2,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: {
              terminationGracePeriodSeconds: 0,
              topologySpreadConstraints: [
                {
                  maxSkew: 1,
                  topologyKey: 'kubernetes.io/hostname',
                  whenUnsatisfiable: 'DoNotSchedule',
                  labelSelector: { matchLabels: labels },
                },
              ],
              containers: [{ name: 'main', image, imagePullPolicy: 'Never' }],
            },
          },
        },
      },
      { namespace },
    );
    await vi.waitFor(async () => {
      const { items } = await client.list(pods, { namespace, labelSelector: 'app=spread' });
      const ready = items.filter((pod) => pod.status?.phase === 'Running');
      expect(ready.length).toBe(2);
      expect(new Set(ready.map((pod) => pod.spec?.nodeName))).toEqual(new Set(['n1', 'n2']));
    }, soon);
  });
});

function webPod(node: string) {
  const serve = 'mkdir /tmp/web && hostname > /tmp/web/index.html && exec busybox httpd -f -p 8080 -h /tmp/web';
  return {
    metadata: { name: `web-${node}`, labels: { app: 'web' } },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'main',
          image,
          imagePullPolicy: 'Never',
          command: ['sh', '-c', serve],
          securityContext: { allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: { drop: ['ALL'] } },
          resources: { limits: { memory: '64Mi', cpu: '500m' } },
        },
      ],
    },
  };
}

function nodePod(node: string) {
  const paths = ['/run/containerd', '/run/nri', '/etc/cni/net.d'];
  return {
    metadata: { name: `node-${node}` },
    spec: {
      nodeName: node,
      hostNetwork: true,
      terminationGracePeriodSeconds: 0,
      volumes: paths.map((path) => ({ name: volumeName(path), hostPath: { path } })),
      containers: [
        {
          name: 'main',
          image,
          imagePullPolicy: 'Never',
          securityContext: { runAsUser: 0 },
          volumeMounts: paths.map((path) => ({ name: volumeName(path), mountPath: `/host${path}` })),
        },
      ],
    },
  };
}

function volumeName(path: string): string {
  return path.slice(1).replaceAll(/[/.]/g, '-');
}

async function running(name: string): Promise<Pod> {
  return vi.waitFor(async () => {
    const pod = await client.get(pods, name, { namespace });
    expect(pod.status?.containerStatuses?.[0]?.state).toHaveProperty('running');
    return pod;
  }, soon);
}

/** Some programs print to stderr what others print to stdout. */
async function inPod(pod: string, command: string[], both = false): Promise<{ stdout: string; exitCode: number }> {
  const { stdout, stderr, exitCode } = await client.exec(pod, { namespace, command });
  return { stdout: both ? stdout + stderr : stdout, exitCode };
}
