/**
 * The parts of a private cluster, each added to one that runs, each used as labs use it. One cluster for all of them: it is the tier's own,
 * so what is added here is there for other tests, too.
 */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binaries, clusterStatus, clusterUp, pauseImage, type PartName, type PartStatus } from '@podloom/local';
import { openRegistry, pushOciArchive } from '@podloom/oci';
import {
  type Client,
  createClient,
  loadConfig,
  namespaces,
  persistentVolumeClaims,
  pods,
  type Pod,
} from '@podloom/kube';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { type KeycloakFacts, openKeycloak } from '../setup/keycloak.ts';
import { isAlive } from './machine.ts';

const name = inject('clusterName');
const image = inject('toolsImage');
const namespace = `parts-${process.pid}`;
let client: Client;
let dir: string;

async function partOf(part: PartName): Promise<PartStatus> {
  const found = (await clusterStatus({ name })).parts.find((one) => one.name === part);
  if (!found) throw new Error(`Cluster ${name} has no ${part}`);
  return found;
}

/** Kills the process of a part, and returns when another runs in its place. */
async function killed(process_: string): Promise<void> {
  const find = async () => (await clusterStatus({ name })).processes.find((one) => one.name === process_);
  const pid = (await find())?.pid;
  if (!pid) throw new Error(`There is no process ${process_}`);
  process.kill(pid, 'SIGKILL');
  await eventually(async () => {
    expect(isAlive(pid)).toBe(false);
    expect(await find()).toMatchObject({ state: 'running', restarts: expect.any(Number), lastExit: 'SIGKILL' });
  });
}

async function runningPod(pod: string): Promise<Pod> {
  return eventually(async () => {
    const found = await client.get(pods, pod, { namespace });
    expect(found.status?.containerStatuses?.[0]?.state).toHaveProperty('running');
    return found;
  });
}

const inPod = async (pod: string, script: string): Promise<string> => {
  const { stdout, stderr, exitCode } = await client.exec(pod, { namespace, command: ['sh', '-c', script] });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout.trim();
};

/** Makes a claim, and returns the name of the folder that it got. */
async function bound(claimName: string): Promise<string> {
  await client.create(
    persistentVolumeClaims,
    {
      metadata: { name: claimName },
      spec: { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } },
    },
    { namespace },
  );
  return eventually(async () => {
    const { spec, status } = await client.get(persistentVolumeClaims, claimName, { namespace });
    expect(status?.phase).toBe('Bound');
    return `${spec?.volumeName}_${namespace}_${claimName}`;
  });
}

const volumes = async (): Promise<string[]> => readdir((await partOf('storage')).facts['folder'] ?? '');

describe.skipIf(name === '')('a private cluster', () => {
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'podloom-parts-'));
    client = createClient(await loadConfig({ path: inject('kubeconfig') }));
    await client.create(namespaces, { metadata: { name: namespace } });
  });

  afterAll(async () => {
    await client.delete(namespaces, namespace);
    await client.close();
    await rm(dir, { recursive: true, force: true });
  });

  describe('with storage', () => {
    it('gets it while it runs, and stays as it was', async () => {
      const { supervisorPid } = await clusterStatus({ name });
      const said: string[] = [];
      const progress = (event: { kind: string; text?: string }) => said.push(event.text ?? '');
      expect(await clusterUp({ name, with: ['storage'], progress })).toMatchObject({ started: false });
      expect(said).toContain('Starting storage');
      expect(await partOf('storage')).toMatchObject({ state: 'ready', facts: { storageClass: 'podloom-shared' } });
      expect((await clusterStatus({ name })).supervisorPid).toBe(supervisorPid);
    });

    it('lets pods without privileges on both nodes write and read one volume, and removes it with its claim', async () => {
      const folder = await bound('shared');
      for (const node of ['n1', 'n2']) await client.create(pods, podWithVolume(node), { namespace });
      await Promise.all(['n1', 'n2'].map(runningPod));
      await inPod('n1', 'umask 077; mkdir /data/own; echo from n1 > /data/own/a; echo from n1 > /data/b');
      expect(await inPod('n2', 'cat /data/own/a; echo and n2 >> /data/b; id -u')).toBe('from n1\n1010');
      expect(await inPod('n1', 'cat /data/b')).toBe('from n1\nand n2');

      expect(await volumes()).toContain(folder);
      for (const node of ['n1', 'n2']) await client.delete(pods, node, { namespace });
      await client.delete(persistentVolumeClaims, 'shared', { namespace });
      await eventually(async () => expect(await volumes()).not.toContain(folder));
    });

    it('goes on when its provisioner was killed', async () => {
      await killed('local-path-provisioner');
      const folder = await bound('after');
      expect(await volumes()).toContain(folder);
    });
  });

  describe('with a registry', () => {
    it('gets it beside what it has', async () => {
      expect(await clusterUp({ name, with: ['registry'] })).toMatchObject({
        parts: expect.arrayContaining(['storage', 'registry']),
      });
      expect(await partOf('registry')).toMatchObject({ state: 'ready' });
      expect(await partOf('storage')).toMatchObject({ state: 'ready' });
    });

    it('lets pods run what was pushed to it, and nobody push without the password', async () => {
      const { address = '', ca = '', username = '', passwordFile = '' } = (await partOf('registry')).facts;
      const password = (await readFile(passwordFile, 'utf8')).trim();
      const push = async (secret: string) => {
        const options = { url: `https://${address}`, ca: await readFile(ca, 'utf8') };
        const registry = openRegistry({ ...options, credentials: { username, password: secret } });
        try {
          return await pushOciArchive(registry, { archive: await pauseArchive(), repository: 'tests/pause', tag: '1' });
        } finally {
          registry.close();
        }
      };
      await expect(push(`${password}x`)).rejects.toMatchObject({ status: 401 });
      const { digest } = await push(password);

      await client.create(pods, podFrom(`${address}/tests/pause:1`, 'pulled', 'n2'), { namespace });
      const pod = await runningPod('pulled');
      expect(pod.status?.containerStatuses?.[0]?.imageID).toContain(digest);
    });

    it('keeps what was pushed when it was killed', async () => {
      await killed('registry');
      const { address } = (await partOf('registry')).facts;
      await client.create(pods, podFrom(`${address}/tests/pause:1`, 'pulled-again', 'n1'), { namespace });
      expect(await runningPod('pulled-again')).toMatchObject({ spec: { nodeName: 'n1' } });
    });
  });

  describe('with identity', () => {
    it('gets it beside what it has', async () => {
      const said: string[] = [];
      const progress = (event: { kind: string; text?: string }) => said.push(event.text ?? '');
      await clusterUp({ name, with: ['identity'], progress });
      expect(said).toContain('Starting identity');
      expect(await partOf('identity')).toMatchObject({ state: 'ready' });
      const { addresses } = await clusterStatus({ name });
      const host = new URL(addresses.apiServer).hostname;
      expect((await partOf('identity')).facts['issuer']).toBe(`https://${host}:8443/realms/podloom`);
    });

    it("knows people by Keycloak's tokens, with their roles as groups", async () => {
      const { addPerson, tokensOf } = await keycloak();
      await addPerson('john.doe', 'correct horse', ['workspace-x:user', 'workspace-y:manager']);
      const { id_token } = await tokensOf('john.doe', 'correct horse');
      const { username, groups } = await whoIs(id_token);
      expect(username).toBe('john.doe');
      expect(groups?.toSorted()).toEqual([
        'kubernetes:workspace-x:user',
        'kubernetes:workspace-y:manager',
        'system:authenticated',
      ]);
    });

    it('refuses a wrong password, and a token of nobody', async () => {
      const { login } = await keycloak();
      expect(await login('john.doe', 'wrong')).toMatchObject({ status: 401 });
      await expect(whoIs('e30.e30.e30')).rejects.toThrow('Unauthorized');
    });

    it('gives an operator the right to manage users and roles, and no other', async () => {
      const { facts } = await partOf('identity');
      const { operatorClient = '', operatorSecretFile = '' } = facts;
      const secret = (await readFile(operatorSecretFile, 'utf8')).trim();
      const { asClient } = await keycloak();
      const operator = await asClient(operatorClient, secret);
      expect(await operator('GET', '/users?username=john.doe')).toMatchObject({ status: 200 });
      expect(await operator('GET', '/clients?clientId=k8s')).toMatchObject({ status: 200 });
      expect(await operator('GET', '/events/config')).toMatchObject({ status: 200 });
      expect(await operator('PUT', '', { enabled: false })).toMatchObject({ status: 403 });
    });

    it('keeps its people when Keycloak was killed, and is believed meanwhile', async () => {
      const { login, tokensOf } = await keycloak();
      const { id_token } = await tokensOf('john.doe', 'correct horse');
      await killed('keycloak');
      expect(await whoIs(id_token)).toMatchObject({ username: 'john.doe' });
      await eventually(async () => {
        expect(await login('john.doe', 'correct horse')).toMatchObject({ status: 200 });
      });
    });
  });
});

const keycloak = async () => openKeycloak((await partOf('identity')).facts as unknown as KeycloakFacts);

/** As whom the API server sees the bearer of a token. */
async function whoIs(token: string): Promise<{ username?: string; groups?: string[] }> {
  const cluster = await loadConfig({ path: inject('kubeconfig') });
  const credentials = { get: async () => ({ authorization: `Bearer ${token}` }), renew: () => false };
  const tls = async () => ({ ...(await cluster.tls()), certificate: undefined });
  const bearer = createClient({ ...cluster, tls, credentials });
  try {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const { text } = await bearer.request(path, { method: 'POST', body: review });
    return (JSON.parse(text) as { status: { userInfo: object } }).status.userInfo;
  } finally {
    await bearer.close();
  }
}

/** An image that is on no node under the name that it is pushed to. */
async function pauseArchive(): Promise<string> {
  const out = join(dir, 'pause.tar');
  const program = (await binaries({ modules: ['pause'] })).path('pause');
  await pauseImage({ out, name: 'podloom.local/pause:pushed', program });
  return out;
}

function podFrom(from: string, podName: string, node: string) {
  const containers = [{ name: 'main', image: from, imagePullPolicy: 'Always' }];
  return { metadata: { name: podName }, spec: { nodeName: node, terminationGracePeriodSeconds: 0, containers } };
}

function podWithVolume(node: string) {
  return {
    metadata: { name: node },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 0,
      securityContext: { runAsUser: 1010, runAsGroup: 1010 },
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'shared' } }],
      containers: [
        {
          name: 'main',
          image,
          imagePullPolicy: 'Never',
          securityContext: { allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: { drop: ['ALL'] } },
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
      ],
    },
  };
}
