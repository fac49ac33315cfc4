/** The SSH bastion as students meet it: real sshd, real keys, and a pod behind it; and what nobody can do with it. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clusterLoad, clusterStatus } from '@podloom/local';
import type { Pod, Secret, Service } from '@podloom/kube';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { bastionImage } from '../../deploy/image/bastion.ts';
import { buildInstanceImage, instance } from '../../deploy/image/ssh-instance.ts';
import { type Commands, type Output, commandsFor, manifest, namespace } from '../chart/installed.ts';
import { ensureProduct } from '../chart/product.ts';
import { eventually } from '../setup/eventually.ts';

const mine = 'labs-bastion';
const secretName = 'crownlabs-bastion-operator-ssh-keys';
const image = 'podloom.local/bastion:test';

let cluster: Commands;
let dir: string;
let bastion: { readonly address: string; readonly port: string };
let target: string;

function command(file: string, args: readonly string[]): Promise<Output> {
  return new Promise((resolve) => {
    execFile(file, args, { timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ code: error ? (typeof error.code === 'number' ? error.code : 1) : 0, stdout, stderr }),
    );
  });
}

/** A key pair of a person; returns the public part. */
async function keyOf(person: string): Promise<string> {
  const file = join(dir, person);
  const { code, stderr } = await command('ssh-keygen', [
    '-q',
    '-t',
    'ed25519',
    '-N',
    '',
    '-C',
    `${person}@laptop`,
    '-f',
    file,
  ]);
  if (code !== 0) throw new Error(stderr);
  return (await readFile(`${file}.pub`, 'utf8')).trim();
}

/** As `ssh` of a person who has said once where the bastion is. Agents and the files of whoever runs this are left out of it. */
async function ssh(person: string, ...args: string[]): Promise<Output> {
  const common = `IdentityFile ${join(dir, person)}
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile ${join(dir, 'known_hosts')}
  StrictHostKeyChecking accept-new
  BatchMode yes
  ConnectTimeout 20
  LogLevel ERROR
`;
  const config = join(dir, `${person}.config`);
  await writeFile(
    config,
    `Host bastion
  HostName ${bastion.address}
  Port ${bastion.port}
  User bastion
  ${common}
Host instance
  HostName ${target}
  User crownlabs
  ProxyJump bastion
  ${common}`,
  );
  return command('ssh', ['-F', config, ...args]);
}

/** What a person is told who is let in, and goes no further. */
const atBastion = async (person: string): Promise<string> => (await ssh(person, 'bastion')).stdout;

const tenant = (name: string, ...publicKeys: string[]): object => ({
  apiVersion: 'crownlabs.polito.it/v1alpha2',
  kind: 'Tenant',
  metadata: { name },
  spec: { firstName: 'Test', lastName: 'Person', email: `${name}@example.com`, publicKeys },
});

const apply = (...objects: object[]) => cluster.kube(['apply', '-n', mine, '-f', '-'], manifest(...objects));
const bastionPods = async (): Promise<Pod[]> =>
  (await cluster.get<{ items: Pod[] }>('pods', '-n', namespace, '-l', 'app.kubernetes.io/component=bastion-operator'))
    .items;
const hostKeys = async () => (await cluster.get<Secret>(`secret/${secretName}`, '-n', namespace)).data;

describe.skipIf(inject('clusterName') === '')('the SSH bastion', () => {
  beforeAll(async () => {
    const name = inject('clusterName');
    dir = await mkdtemp(join(tmpdir(), 'podloom-bastion-'));
    await mkdir(join(dir, 'images'));
    cluster = await commandsFor(inject('kubeconfig'));
    for (const { out } of [
      await bastionImage({ out: join(dir, 'images/bastion.tar'), name: image }),
      await buildInstanceImage(join(dir, 'images/instance.tar')),
    ]) {
      await clusterLoad({ name, archive: out });
    }
    await ensureProduct({
      'labs.bastion.enabled': true,
      'labs.bastion.image.tag': 'test',
      'labs.bastion.service.type': 'NodePort',
      'labs.tracker.enabled': true,
    });
    await cluster.kube(['create', 'namespace', mine]);
    const service = await cluster.get<Service>('service/podloom-bastion', '-n', namespace);
    const [node] = (await clusterStatus({ name })).nodes;
    bastion = { address: node!.address, port: String(service.spec?.ports?.[0]?.nodePort) };

    const mary = await keyOf('mary');
    await keyOf('stranger');
    await keyOf('host');
    await apply(tenant('mary', mary), ...instance('lab', await readFile(join(dir, 'host'), 'utf8'), `${mary}\n`));
    await cluster.kube(['wait', '-n', mine, '--for=condition=Ready', '--timeout=300s', 'pod/lab']);
    target = (await cluster.get<Pod>('pod/lab', '-n', mine)).status?.podIP ?? '';
  });
  afterAll(async () => {
    await cluster?.kubectl(['delete', 'tenants', 'mary', 'john', '--ignore-not-found']);
    await cluster?.kubectl(['delete', 'namespace', mine, '--ignore-not-found', '--timeout=600s']);
    await ensureProduct({ 'labs.bastion.enabled': false, 'labs.tracker.enabled': false });
    await cluster?.kubectl(['delete', 'secret', secretName, '-n', namespace, '--ignore-not-found']);
    await rm(dir, { recursive: true, force: true });
  });

  it('leads a person with a key into an instance, by ssh -J', async () => {
    await eventually(async () => {
      const { code, stdout, stderr } = await ssh('mary', 'instance', 'hostname; id -u');
      expect(stderr).toBe('');
      expect(stdout).toBe('lab\n1010\n');
      expect(code).toBe(0);
    });
  });

  it('runs sshd without any privilege, and gives its container no token', async () => {
    const [pod] = await bastionPods();
    const sshd = pod?.spec?.containers.find(({ name }) => name === 'bastion');
    expect(sshd?.securityContext).toMatchObject({
      runAsUser: 1000,
      runAsNonRoot: true,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    });
    expect(sshd?.volumeMounts?.map(({ mountPath }) => mountPath)).toEqual(['/host-keys', '/auth-keys-vol']);
  });

  it.each([
    ['a person whose key nobody knows', 'stranger', ['instance', 'true'], /Permission denied/],
    ['a shell on the bastion', 'mary', ['bastion'], /This account is currently not available/],
    ['a command on the bastion', 'mary', ['bastion', 'cat /etc/passwd'], /This account is currently not available/],
    [
      'a way back',
      'mary',
      ['-o', 'ExitOnForwardFailure=yes', '-N', '-R', '2200:127.0.0.1:22', 'bastion'],
      /remote port forwarding failed/,
    ],
  ])('refuses %s', async (_, person, args, reason) => {
    const { code, stdout, stderr } = await ssh(person, ...args);
    expect(`${stdout}${stderr}`).toMatch(reason);
    expect(stdout).not.toContain('root:');
    expect(code).not.toBe(0);
  });

  it.each([
    ['another port of an instance', () => `${target}:80`],
    ['the API server', () => '10.96.0.1:443'],
    ['the bastion itself', () => '127.0.0.1:8080'],
  ])('leads nowhere else: %s', async (_, where) => {
    const { code, stderr } = await ssh('mary', '-W', where(), 'bastion');
    expect(stderr).toMatch(/administratively prohibited|stdio forwarding failed/);
    expect(code).not.toBe(0);
  });

  it('counts each connection by its destination, under the name that upstream has', async () => {
    const { code } = await ssh('mary', 'instance', 'true');
    expect(code).toBe(0);
    const [pod] = await bastionPods();
    const path = `/api/v1/namespaces/${namespace}/pods/${pod?.metadata.name}:8082/proxy/metrics`;
    await eventually(async () => {
      const text = await cluster.kube(['get', `--raw=${path}`]);
      const [, count] =
        new RegExp(`^bastion_ssh_connections\\{destination_ip="${target}",destination_port="22"\\} (\\d+)$`, 'm').exec(
          text,
        ) ?? [];
      expect(Number(count)).toBeGreaterThan(1);
    });
    const service = await cluster.get<Service>('service/podloom-bastion-operator-metrics', '-n', namespace);
    expect(service.spec?.ports).toContainEqual(expect.objectContaining({ name: 'metrics', port: 8082 }));
  });

  it('locks a person out whose key goes, leaves out bad keys, and says which', async () => {
    const john = await keyOf('john');
    await apply(tenant('john', john, `command="sh" ${john}`));
    // Who is let in at the bastion is refused by the instance, where only Mary's key is.
    await eventually(async () => expect(await atBastion('john')).toMatch(/not available/));
    await eventually(async () => {
      const events = await cluster.kube([
        'get',
        'events',
        '-n',
        'default',
        '--field-selector=involvedObject.name=john',
      ]);
      expect(events).toMatch(/PublicKeyRefused.*spec\.publicKeys\[1\]/);
    });
    await apply(tenant('john'));
    await eventually(async () => expect((await ssh('john', 'bastion')).stderr).toMatch(/Permission denied/));
    expect(await atBastion('mary')).toMatch(/not available/);
  });

  it('keeps its host keys when it is upgraded, so that nobody is warned of another bastion', async () => {
    const before = await hostKeys();
    expect(Object.keys(before ?? {}).toSorted()).toEqual([
      'ssh_host_key_ecdsa',
      'ssh_host_key_ed25519',
      'ssh_host_key_rsa',
    ]);
    await ensureProduct({ 'labs.bastion.replicas': 2 });
    expect(await hostKeys()).toEqual(before);
    expect((await ssh('mary', 'instance', 'hostname')).stdout).toBe('lab\n');
  });
});
