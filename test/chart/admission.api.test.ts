/** Who may write what, beyond what RBAC can say: the policies of the chart, asked as each of the callers. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Installed, chartOnApiServer, manifest, namespace } from './installed.ts';

const operator = [`--as=system:serviceaccount:${namespace}:podloom-operator`];
const agentOf = (node?: string): string[] => [
  `--as=system:serviceaccount:${namespace}:podloom-agent`,
  ...(node === undefined ? [] : [`--as-user-extra=authentication.kubernetes.io/node-name=${node}`]),
];
const tenant = ['--as=system:serviceaccount:team:tenant'];

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
  // Roles and policies hold a moment after they were written: until then the server does not know them.
  await vi.waitFor(() => kube(['create', '-f', '-', ...operator], manifest(podNetwork('web', 'n1'))), patience);
  const stray = manifest(deployment({}, 'probe', []));
  await vi.waitUntil(
    async () =>
      (await refused(patchStatus('web'), agentOf('n2'))).includes('own node') &&
      (await refused(patchSpec('web'), tenant)).includes('Podloom alone') &&
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

describe('an administrator', () => {
  it('may write what nobody else may', async () => {
    expect(await refused(patchSpec('web'), [])).toBe('');
    expect(await refused(patchStatus('web'), [])).toBe('');
  });
});

const owner = { apiVersion: 'podconfig.opdev.io/v1alpha1', kind: 'PodConfig', name: 'a', uid: 'u' };

function deployment(pod: object, name = 'sample', owners: object[] = [owner]) {
  const labels = { podconfig: 'a' };
  const securityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
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
          containers: [{ name: 'c', image: 'i:1', securityContext }],
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
    expect(await create({}, [{ ...owner, apiVersion: 'apps/v1', kind: 'ReplicaSet' }])).toContain(
      'belong to a PodConfig',
    );
  });

  it.each([
    ['the network of the node', { hostNetwork: true }],
    ['the processes of the node', { hostPID: true }],
    ['a folder of the node', { volumes: [{ name: 'root', hostPath: { path: '/' } }] }],
    ['a token', { automountServiceAccountToken: true }],
    ['the service account of another', { serviceAccountName: 'builder' }],
    ['a privileged container', { containers: [{ name: 'c', image: 'i:1', securityContext: { privileged: true } }] }],
    [
      'a capability',
      {
        containers: [
          {
            name: 'c',
            image: 'i:1',
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'], add: ['NET_RAW'] } },
          },
        ],
      },
    ],
  ])('makes none with %s', async (_, pod) => {
    expect(await create(pod)).toContain('no privilege, no volume and no token');
  });

  it('changes a sample Deployment, and adopts none that is not of the same PodConfig already', async () => {
    const own = (name: string) =>
      refused(
        patch(`deployment/${name}`, '', { metadata: { ownerReferences: [owner] }, spec: { replicas: 2 } }),
        operator,
      );
    await installed.kube(
      ['create', '-f', '-'],
      manifest(
        deployment({}, 'owned'),
        deployment({}, 'dns', []),
        deployment({}, 'of-another', [{ ...owner, name: 'b', uid: 'v' }]),
      ),
    );
    expect(await own('owned')).toBe('');
    expect(await own('dns')).toContain('belong to a PodConfig');
    expect(await own('of-another')).toContain('belong to a PodConfig');
  });

  it('deletes no Deployment that is not of a PodConfig', async () => {
    await installed.kube(['create', '-f', '-'], manifest(deployment({}, 'theirs', [])));
    expect(await refused(['delete', 'deployment/theirs', '-n', 'team', '--wait=false'], operator)).toContain(
      'belong to a PodConfig',
    );
  });
});
