/**
 * Registry: distribution, at the control plane's address, with TLS of the cluster's authority and one account. The nodes know that account,
 * so a pod may name an image of it without a secret; whoever pushes must know the password.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClusterPlan } from '../cluster/plan.ts';
import { registriesDir } from '../config/node.ts';
import { renderRegistry } from '../config/registry.ts';
import { isAnswered } from '../process/https.ts';
import { run } from '../process/run.ts';
import { waitFor } from '../process/wait.ts';
import { confined, ownFolder, seenAs } from '../supervisor/confined.ts';
import type { Part } from './part.ts';
import { ensureSecret } from './secret.ts';

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
    const password = await ensureSecret(passwordFile(plan));
    const program = built.path('registry');
    const hash = await run(program, ['hash-password'], { input: password });
    const place = {
      images: seenAs('images'),
      certificate: seenAs('server', 'tls.crt'),
      key: seenAs('server', 'tls.key'),
      auth: { htpasswd: { realm: 'podloom', path: seenAs('server', 'accounts') } },
    };
    const pki = async (name: string) => readFile(join(plan.pki, name), 'utf8');
    await ownFolder(user, join(dir, 'images'));
    await ownFolder(user, join(dir, 'server'), {
      'config.json': renderRegistry({ ...place, address: hostOf(plan), secret: password }),
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
    // Without an account it is a refusal, and an answer all the same.
    await waitFor(async () => isAnswered(`https://${hostOf(plan)}/v2/`, { ca }, 401), {
      what: 'An answer of the registry',
      timeoutMs: 60_000,
      signal,
    });
  },
};

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
