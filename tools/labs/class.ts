/** The example class on a cluster: its people with keys, and a small pod that one of them reaches by SSH. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { instance } from '../../deploy/image/ssh-instance.ts';
import type { Tool } from '../clients.ts';
import { root } from '../narrated.ts';
import { patiently } from './patiently.ts';
import { ensureKey } from './ssh.ts';

export const workspace = 'chemistry';
export const teacher = 'teacher';
export const students = ['student-a', 'student-b'] as const;
const [first] = students;
/** Of the student with the pod. */
export const space = `tenant-${first}`;
export const pod = 'try-ssh';
const file = 'examples/labs/class/class.yaml';

/** Returns when they have what they should have. */
export async function applyClass(kubectl: Tool, folder: string): Promise<void> {
  // Policies know a kind a moment after it is served, and refuse what is of it until then.
  await patiently(() => kubectl('apply', '--filename', join(root, file)));
  for (const student of students) {
    const { publicKey } = await ensureKey(folder, student);
    const patch = JSON.stringify({ spec: { publicKeys: [publicKey] } });
    await kubectl('patch', 'tenant', student, '--type=merge', `--patch=${patch}`);
  }
  const people = [teacher, ...students].map((name) => `tenant/${name}`);
  await kubectl('wait', `workspace/${workspace}`, ...people, '--for=condition=Ready', '--timeout=300s');
  await kubectl('wait', ...people, '--for=condition=Identity', '--timeout=300s');
}

/** A pod with sshd that has the key of its student. Returns its address. */
export async function ensurePod(kubectl: Tool, folder: string): Promise<string> {
  const { publicKey } = await ensureKey(folder, first);
  const { privateKey: hostKey } = await ensureKey(folder, 'host');
  const items = instance(pod, hostKey, `${publicKey}\n`);
  const manifest = join(folder, `${pod}.json`);
  await writeFile(manifest, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }), { mode: 0o600 });
  await kubectl('apply', '--namespace', space, '--filename', manifest);
  await kubectl('wait', `pod/${pod}`, '--namespace', space, '--for=condition=Ready', '--timeout=300s');
  return kubectl('get', 'pod', pod, '--namespace', space, '--output=jsonpath={.status.podIP}');
}

const columns = [
  'NAME:.metadata.name',
  'ROLE:.spec.workspaces[*].role',
  'NAMESPACE:.status.personalNamespace.name',
  'CPU:.status.quota.cpu',
  'MEMORY:.status.quota.memory',
  'INSTANCES:.status.quota.instances',
  'READY:.status.ready',
].join(',');

export const showPeople = (kubectl: Tool): Promise<string> =>
  kubectl('get', 'tenants', teacher, ...students, `--output=custom-columns=${columns}`);
