/**
 * `make labs`: a private cluster with what labs need (the one of `make up`, or a new one), the product on it with labs on, a class of a teacher and two
 * students, and what they can do. Everything here can be repeated; a second run finds most of it done. `--name` chooses the cluster.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type ClusterStatus, clusterLoad } from '@podloom/local';
import { buildInstanceImage } from '../deploy/image/ssh-instance.ts';
import { archive, chartNamespace, ensureNamespace, installOnPrivate } from './deploy.ts';
import { applyClass, ensurePod, pod, showPeople, space, students, teacher, workspace } from './labs/class.ts';
import { applySecret, keycloakValues, type Login, logIn } from './labs/login.ts';
import { ensureKey, inLab, refused, type Way, writeConfig } from './labs/ssh.ts';
import { buildImages, type Narrator, narrate, root, type Scene, seconds } from './narrated.ts';

const startedAt = performance.now();
const [first, second] = students;

await narrate('labs', labs);

async function labs({ step, end, startCluster }: Narrator): Promise<void> {
  const { name } = parseArgs({ options: { name: { type: 'string' } } }).values;
  const scene = await startCluster({ name, with: ['storage', 'identity', 'registry'] });
  const { cluster, kubectl } = scene;
  const folder = join(cluster.dir, 'labs');
  step('Making the images');
  await buildImages();
  await ensureNamespace(kubectl);
  await applySecret(kubectl, cluster, folder);
  const { out: instanceImage } = await buildInstanceImage(join(root, 'dist/ssh-instance-image.tar'));
  await installOnPrivate(cluster, step, { set: values(cluster, archive('tools-image.tar').name) });
  await clusterLoad({ name: cluster.name, archive: instanceImage });
  step('Applying examples/labs/class and waiting until everybody has a namespace');
  await applyClass(kubectl, folder);
  step(`Starting a pod with sshd for ${first}`);
  const target = await ensurePod(kubectl, folder);
  const way = { folder, target, ...(await bastionOf(scene)) };
  step('Going through the SSH bastion');
  const visit = await visits(way);
  step('Logging in at Keycloak');
  const logins = await logIns({ kubectl, cluster, folder });
  end();

  console.log(await kubectl('get', 'workspace', workspace, '--output=wide'));
  console.log(await showPeople(kubectl));
  for (const line of [...visit.lines, '', ...logins]) console.log(line);
  console.log(`\n${await partsOf(scene)}`);
  console.log(`All of it after ${seconds(performance.now() - startedAt)}.`);
  console.log(whatNext(scene, folder, visit.config));
}

/** What a private cluster needs for labs, beside what its administrator chose. */
function values(cluster: ClusterStatus, toolsImage: string): Record<string, unknown> {
  const keycloak = keycloakValues(cluster);
  return {
    'labs.tenants.enabled': true,
    // The default cannot be pulled by nodes that have no way out.
    'labs.tenants.provisionImage': toolsImage,
    'labs.tenants.mirrorProvisioners': ['rancher.io/local-path'],
    'labs.bastion.enabled': true,
    'labs.bastion.service.type': 'NodePort',
    'labs.tracker.enabled': true,
    'labs.operator.flags': { 'mydrive-pvcs-storage-class-name': 'podloom-shared', ...keycloak.flags },
    ...keycloak.set,
  };
}

async function bastionOf({ cluster, kubectl }: Scene): Promise<Pick<Way, 'address' | 'port'>> {
  const path = '--output=jsonpath={.spec.ports[0].nodePort}';
  const port = Number(await kubectl('get', 'service', 'podloom-bastion', '--namespace', chartNamespace, path));
  const [node] = cluster.nodes;
  if (node === undefined || !(port > 0)) throw new Error('Service podloom-bastion has no port on the nodes');
  return { address: node.address, port };
}

/** The student is let in and led on. Whose key no Tenant has is not let in, and whose key the pod does not know is not led on. */
async function visits(way: Way): Promise<{ config: string; lines: readonly string[] }> {
  const config = await writeConfig(way, first);
  const answer = await inLab(config, 'hostname; id -u');
  const [hostname, uid] = answer.split('\n');
  await ensureKey(way.folder, 'stranger');
  const stranger = await refused(await writeConfig(way, 'stranger'), 'a key that no Tenant has');
  const other = await refused(await writeConfig(way, second), `${second} in the pod of ${first}`);
  const route = `ssh -J bastion@${way.address}:${way.port} crownlabs@${way.target}`;
  return {
    config,
    lines: [
      route,
      `  ${first}: in ${space}/${hostname}, as user ${uid}`,
      `  ${second}: ${other}`,
      `  somebody else: ${stranger}`,
    ],
  };
}

/** Each with a password of their own, and with the groups that the operator gave them. */
async function logIns(login: Login): Promise<readonly string[]> {
  const lines = [`Login by password at Keycloak, and who that is for Kubernetes`];
  const roles = [[teacher, 'manager'], ...students.map((student) => [student, 'user'])] as const;
  for (const [person = '', role = ''] of roles) {
    const groups = await logIn(login, person, `workspace-${workspace}:${role}`);
    lines.push(`  ${person}: ${groups.join(', ')}`);
  }
  return lines;
}

async function partsOf({ cluster }: Scene): Promise<string> {
  const fact: Record<string, string> = { storage: 'storageClass', identity: 'issuer', registry: 'address' };
  return cluster.parts
    .map(({ name, state, facts }) => `${name.padEnd(9)} ${state}  ${facts[fact[name] ?? ''] ?? ''}`)
    .join('\n');
}

function whatNext({ shell, down }: Scene, folder: string, config: string): string {
  return `
To go on:

  ${shell}
  kubectl get workspaces,tenants -o wide   # who is there
  kubectl describe tenant ${first}       # what is missing, and why
  kubectl describe resourcequota,networkpolicy -n ${space}   # what a student may use, and who may reach it
  ssh -F ${config} lab   # as ${first}, through the bastion into pod ${pod}
  kubectl --kubeconfig ${join(folder, `${first}.kubeconfig`)} auth can-i --list -n ${space}   # as ${first}, until the token ends; the password is beside it
  kubectl delete tenant ${first}         # and all of the student is gone but the drive; ${down} removes the cluster

The private cluster enforces no NetworkPolicies: they are there, as on any cluster, and keep nobody out here. Sizes of volumes are not enforced either.
Nothing has a way out to the internet.
`;
}
