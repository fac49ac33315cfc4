/**
 * Registry: distribution, at the control plane's address, with TLS of the cluster's authority and one account. The nodes know that account,
 * so a pod may name an image of it without a secret; whoever pushes must know the password.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Unavailable } from '@podloom/api';
import type { ClusterPlan } from '../cluster/plan.ts';
import { registriesDir } from '../config/node.ts';
import { httpsRequest } from '../process/https.ts';
import { run } from '../process/run.ts';
import { waitFor } from '../process/wait.ts';
import { confined, ownFolder, seenAs } from '../supervisor/confined.ts';
import type { Part } from './part.ts';

const port = 5000;
const user = 61_002;
const username = 'podloom';

const hostOf = (plan: ClusterPlan): string => `${plan.controlAddress}:${port}`;
const folderOf = (plan: ClusterPlan): string => join(plan.dir, 'registry');
const passwordFile = (plan: ClusterPlan): string => join(folderOf(plan), 'password');

export const registry: Part = {
  modules: ['registry'],
  certificates: (plan) => ({ registry: { commonName: 'podloom-registry', names: [plan.controlAddress] } }),
  facts: (plan) => ({
    address: hostOf(plan),
    ca: join(plan.pki, 'ca.crt'),
    username,
    passwordFile: passwordFile(plan),
  }),
  prepare: async () => undefined,

  async start({ plan, built, launcher, signal }) {
    const dir = folderOf(plan);
    const password = await ensurePassword(plan);
    const program = built.path('registry');
    const hash = await run(program, ['hash-password'], { input: password });
    const pki = async (name: string) => readFile(join(plan.pki, name), 'utf8');
    await ownFolder(user, join(dir, 'images'));
    await ownFolder(user, join(dir, 'server'), {
      'config.json': JSON.stringify(config(plan, password)),
      accounts: `${username}:${hash.trim()}\n`,
      'tls.crt': await pki('registry.crt'),
      'tls.key': await pki('registry.key'),
    });
    await tellNodes(plan, password);
    const folders = { server: join(dir, 'server'), images: join(dir, 'images'), program: dirname(program) };
    const command = [seenAs('program', 'registry'), 'serve', seenAs('server', 'config.json')] as const;
    launcher.inControl('registry', ['unshare', ...confined({ user, folders, command })], {
      OTEL_TRACES_EXPORTER: 'none',
    });
    const ca = await pki('ca.crt');
    await waitFor(async () => answers(plan, ca), { what: 'An answer of the registry', timeoutMs: 60_000, signal });
  },
};

/** Kept for the life of the cluster: people have written it into secrets. */
async function ensurePassword(plan: ClusterPlan): Promise<string> {
  const file = passwordFile(plan);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const kept = await readFile(file, 'utf8').catch(() => '');
  if (kept !== '') return kept.trim();
  const password = randomBytes(24).toString('base64url');
  await writeFile(file, `${password}\n`, { mode: 0o600 });
  return password;
}

/** JSON is YAML, too. Unfinished uploads go on after a restart, because the key that signs their addresses stays. */
function config(plan: ClusterPlan, password: string) {
  return {
    version: '0.1',
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: seenAs('images') }, delete: { enabled: true } },
    http: {
      addr: hostOf(plan),
      secret: createHash('sha256').update(`uploads ${password}`).digest('hex'),
      tls: { certificate: seenAs('server', 'tls.crt'), key: seenAs('server', 'tls.key'), minimumtls: 'tls1.2' },
    },
    auth: { htpasswd: { realm: 'podloom', path: seenAs('server', 'accounts') } },
  };
}

/** containerd reads the folder anew for each pull. */
async function tellNodes(plan: ClusterPlan, password: string): Promise<void> {
  const url = `https://${hostOf(plan)}`;
  const account = Buffer.from(`${username}:${password}`).toString('base64');
  const dir = join(registriesDir(plan), hostOf(plan));
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const text = `server = "${url}"

[host."${url}"]
capabilities = ["pull", "resolve"]
ca = "${join(plan.pki, 'ca.crt')}"

[host."${url}".header]
authorization = "Basic ${account}"
`;
  await writeFile(join(dir, 'hosts.toml.new'), text, { mode: 0o600 });
  await rename(join(dir, 'hosts.toml.new'), join(dir, 'hosts.toml'));
}

/** An answer is enough: without an account it is a refusal. */
async function answers(plan: ClusterPlan, ca: string): Promise<boolean> {
  const answer = await httpsRequest(`https://${hostOf(plan)}/v2/`, { ca }).catch((error: unknown) => {
    if (error instanceof Unavailable) return undefined;
    throw error;
  });
  return answer?.status === 401;
}
