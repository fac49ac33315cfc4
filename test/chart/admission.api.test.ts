/** Who may write what, beyond what RBAC can say: the policies of the chart, asked as each of the callers. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Installed, chartOnApiServer, manifest, namespace } from './installed.ts';

const operator = [`--as=system:serviceaccount:${namespace}:podloom-network-operator`];
const agentOf = (node?: string): string[] => [
  `--as=system:serviceaccount:${namespace}:podloom-agent`,
  ...(node === undefined ? [] : [`--as-user-extra=authentication.kubernetes.io/node-name=${node}`]),
];
const tenant = ['--as=system:serviceaccount:team:tenant'];
const owner = ['--as=system:serviceaccount:team:owner'];

const everything = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: { name: 'all', namespace: 'team' },
  rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
};

const patience = { timeout: 180_000, interval: 200 };

let installed: Installed;
beforeAll(async () => {
  installed = await chartOnApiServer();
  const { kube } = installed;
  await kube(['create', 'namespace', 'team']);
  // More than anybody should be granted: what is refused below is refused by the policies.
  const verbs = '--verb=get,list,watch,create,update,patch,delete';
  const resources = 'podnetworks,podnetworks/status,ippools,ippools/status';
  const full = resources
    .split(',')
    .map((name) => name.replace(/^\w+/, '$&.podnetwork.opdev.io'))
    .join(',');
  await kube(['create', 'clusterrole', 'too-much', verbs, `--resource=${full}`]);
  await kube([
    'create',
    'rolebinding',
    'too-much',
    '-n',
    'team',
    '--clusterrole=too-much',
    '--serviceaccount=team:tenant',
  ]);
  await kube(['create', '-f', '-'], manifest(everything));
  await kube(['create', 'rolebinding', 'all', '-n', 'team', '--role=all', '--serviceaccount=team:owner']);
  // kubectl reads what it patches.
  const agent = `--serviceaccount=${namespace}:podloom-agent`;
  await kube(['create', 'role', 'reads-events', '-n', 'team', '--verb=get', '--resource=events']);
  await kube(['create', 'rolebinding', 'reads-events', '-n', 'team', '--role=reads-events', agent]);
  // Roles and policies hold a moment after they were written: until then the server does not know them.
  await vi.waitFor(() => kube(['create', '-f', '-', ...operator], manifest(podNetwork('web', 'n1'))), patience);
  const stray = manifest(deployment({}, 'probe', []));
  await vi.waitUntil(
    async () =>
      (await refused(patchStatus('web'), agentOf('n2'))).includes('own node') &&
      (await refused(patchSpec('web'), tenant)).includes('Podloom alone') &&
      (await refused(['get', 'podnetwork/web', '-n', 'team'], owner)) === '' &&
      (await told(kubelets)).includes('an agent tells') &&
      (await refused(['create', '--dry-run=server', '-f', '-'], operator, stray)).includes('belong to a PodConfig'),
    patience,
  );
});
afterAll(() => installed?.stop());

function podNetwork(name: string, nodeName: string) {
  return {
    apiVersion: 'podnetwork.opdev.io/v1alpha1',
    kind: 'PodNetwork',
    metadata: { name, namespace: 'team' },
    spec: { podUid: 'a', nodeName, interfaces: [] },
  };
}

const kubelets = { source: { component: 'kubelet', host: 'n1' } };
const event = (other: object) => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { generateName: 'e-', namespace: 'team' },
  involvedObject: { apiVersion: 'v1', kind: 'Pod', name: 'web', namespace: 'team' },
  source: { component: 'podloom-agent', host: 'n1' },
  type: 'Normal',
  reason: 'Told',
  ...other,
});
const told = (other: object): Promise<string> => refused(['create', '-f', '-'], agentOf('n1'), manifest(event(other)));

const patch = (what: string, subresource: string, body: object): string[] => [
  'patch',
  what,
  '-n',
  'team',
  '--type=merge',
  `--patch=${JSON.stringify(body)}`,
  ...(subresource === '' ? [] : [`--subresource=${subresource}`]),
];
const patchStatus = (name: string): string[] =>
  patch(`podnetwork/${name}`, 'status', { status: { observedGeneration: Date.now() } });
const patchSpec = (name: string): string[] =>
  patch(`podnetwork/${name}`, '', {
    spec: {
      interfaces: [{ key: `k${Date.now()}`, name: 'net1', source: { apiVersion: 'v1', kind: 'Bridge', name: 'x' } }],
    },
  });

/** The refusal, or nothing where it was accepted. */
async function refused(args: string[], as: string[], input?: string): Promise<string> {
  const { code, stderr } = await installed.kubectl([...args, ...as], input);
  return code === 0 ? '' : stderr;
}

describe('an agent', () => {
  it('writes the status of a PodNetwork of its own node', async () => {
    expect(await refused(patchStatus('web'), agentOf('n1'))).toBe('');
  });

  it('is refused that of another node, and told why', async () => {
    expect(await refused(patchStatus('web'), agentOf('n2'))).toContain(
      'its token is of node n2, the PodNetwork is of node n1',
    );
  });

  it('is refused with a token that is of no node', async () => {
    expect(await refused(patchStatus('web'), agentOf())).toContain('its token is of no node');
  });

  it('changes no spec, not even of its own node', async () => {
    expect(await refused(patchSpec('web'), agentOf('n1'))).toMatch(/forbidden/i);
    expect(await refused(['delete', 'podnetwork/web', '-n', 'team'], agentOf('n1'))).toMatch(/forbidden/i);
  });

  it('tells Events as itself, on its own node', async () => {
    expect(await told({})).toBe('');
    expect(await told({ metadata: { name: 'told', namespace: 'team' } })).toBe('');
    const change = patch('event/told', '', { count: 2 });
    expect(await refused(change, agentOf('n1'))).toBe('');
    expect(await refused(change, agentOf('n2'))).toContain('changes none of others');
  });

  it.each([
    ['of another node', { source: { component: 'podloom-agent', host: 'n2' } }],
    ['in the name of another', { source: { component: 'kubelet', host: 'n1' } }],
    ['without a name', { source: {} }],
    ['of what is not its own', { involvedObject: { apiVersion: 'v1', kind: 'Node', name: 'n1', namespace: 'team' } }],
  ])('tells none %s', async (_, other) => {
    expect(await told(other)).toContain('an agent tells Events of pods and PodNetworks');
  });

  it('changes no Event of anybody else', async () => {
    const theirs = event({ ...kubelets, metadata: { name: 'theirs', namespace: 'team' } });
    await installed.kube(['create', '-f', '-'], manifest(theirs));
    for (const change of [{ count: 2 }, { source: event({}).source }]) {
      expect(await refused(patch('event/theirs', '', change), agentOf('n1'))).toContain('changes none of others');
    }
  });

  it('reads no pod, no secret and no source', async () => {
    for (const kind of ['pods', 'secrets', 'podconfigs', 'nodes']) {
      expect(await refused(['get', kind, '-A'], agentOf('n1'))).toMatch(new RegExp(`${kind}.*is forbidden`));
    }
  });
});

describe('a tenant who was granted too much', () => {
  it('makes no PodNetwork and changes no spec', async () => {
    const made = await refused(['create', '-f', '-'], tenant, manifest(podNetwork('mine', 'n1')));
    expect(made).toContain('podnetworks are written by Podloom alone');
    expect(await refused(patchSpec('web'), tenant)).toContain('written by Podloom alone');
  });

  it('writes no status', async () => {
    expect(await refused(patchStatus('web'), tenant)).toContain('written by Podloom alone');
  });

  it('may label what is there: only what is carried out is guarded', async () => {
    expect(await refused(['label', 'podnetwork/web', '-n', 'team', 'seen=yes', '--overwrite'], tenant)).toBe('');
  });
});

describe('the owner of a namespace, with all verbs for all that is in it', () => {
  it('makes no PodNetwork and changes none', async () => {
    const made = await refused(['create', '-f', '-'], owner, manifest(podNetwork('mine', 'n1')));
    expect(made).toContain('podnetworks are written by Podloom alone');
    expect(await refused(patchSpec('web'), owner)).toContain('written by Podloom alone');
    expect(await refused(patchStatus('web'), owner)).toContain('written by Podloom alone');
  });
});

describe('an administrator', () => {
  it('may write what nobody else may', async () => {
    expect(await refused(patchSpec('web'), [])).toBe('');
    expect(await refused(patchStatus('web'), [])).toBe('');
  });
});

const config = { apiVersion: 'podconfig.opdev.io/v1alpha1', kind: 'PodConfig', name: 'a', uid: 'u' };

const unprivileged = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
const container = (other: object) => ({
  containers: [{ name: 'c', image: 'i:1', securityContext: unprivileged, ...other }],
});

function deployment(pod: object, name = 'sample', owners: object[] = [config]) {
  const labels = { podconfig: 'a' };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'team', labels, ownerReferences: owners },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          automountServiceAccountToken: false,
          ...container({}),
          ...pod,
        },
      },
    },
  };
}

const create = (pod: object, owners?: object[]) =>
  refused(['create', '--dry-run=server', '-f', '-'], operator, manifest(deployment(pod, 'sample', owners)));

describe('the operator', () => {
  it('makes a sample Deployment of a PodConfig', async () => {
    expect(await create({})).toBe('');
  });

  it('makes no Deployment of anybody else', async () => {
    expect(await create({}, [])).toContain('belong to a PodConfig');
    expect(await create({}, [{ ...config, apiVersion: 'apps/v1', kind: 'ReplicaSet' }])).toContain(
      'belong to a PodConfig',
    );
  });

  it.each([
    ['the network of the node', { hostNetwork: true }],
    ['the processes of the node', { hostPID: true }],
    ['a folder of the node', { volumes: [{ name: 'root', hostPath: { path: '/' } }] }],
    ['a token', { automountServiceAccountToken: true }],
    ['the service account of another', { serviceAccountName: 'builder' }],
    ['a privileged container', container({ securityContext: { privileged: true } })],
    [
      'a capability',
      container({ securityContext: { ...unprivileged, capabilities: { drop: ['ALL'], add: ['NET_RAW'] } } }),
    ],
    ['a secret', container({ env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] })],
    ['all of a secret', container({ envFrom: [{ secretRef: { name: 's' } }] })],
    ['a secret to pull with', { imagePullSecrets: [{ name: 's' }] }],
  ])('makes none with %s', async (_, pod) => {
    expect(await create(pod)).toContain('no privilege, no volume, no token and no secret');
  });

  it('changes a sample Deployment, and adopts none that is not of the same PodConfig already', async () => {
    const own = (name: string) =>
      refused(
        patch(`deployment/${name}`, '', { metadata: { ownerReferences: [config] }, spec: { replicas: 2 } }),
        operator,
      );
    await installed.kube(
      ['create', '-f', '-'],
      manifest(
        deployment({}, 'owned'),
        deployment({}, 'dns', []),
        deployment({}, 'of-another', [{ ...config, name: 'b', uid: 'v' }]),
      ),
    );
    expect(await own('owned')).toBe('');
    expect(await own('dns')).toContain('belong to a PodConfig');
    expect(await own('of-another')).toContain('belong to a PodConfig');
  });

  it('takes a sample Deployment back that a tenant has changed, and changes no more of it than the number of its pods', async () => {
    const edited = { ...container({ env: [{ name: 'A', value: 'b' }] }), volumes: [{ name: 'v', emptyDir: {} }] };
    await installed.kube(['create', '-f', '-'], manifest(deployment(edited, 'edited')));
    const change = (spec: object) => refused(patch('deployment/edited', '', { spec }), operator);
    expect(await change({ replicas: 2 })).toBe('');
    expect(await change({ template: { metadata: { annotations: { a: 'b' } } } })).toContain('no privilege, no volume');
    expect(await refused(['delete', 'deployment/edited', '-n', 'team', '--wait=false'], operator)).toBe('');
  });

  it('deletes no Deployment that is not of a PodConfig', async () => {
    await installed.kube(['create', '-f', '-'], manifest(deployment({}, 'theirs', [])));
    expect(await refused(['delete', 'deployment/theirs', '-n', 'team', '--wait=false'], operator)).toContain(
      'belong to a PodConfig',
    );
  });
});
