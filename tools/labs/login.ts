/** People of the class at Keycloak: each gets a password that is kept with the keys, logs in with it, and is then somebody for Kubernetes. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterStatus } from '@podloom/local';
import type { Tool } from '../clients.ts';
import { chartNamespace } from '../deploy.ts';
import { type KeycloakFacts, openKeycloak } from '../keycloak.ts';
import { patiently } from './patiently.ts';

const secretName = 'podloom-keycloak';

interface IdentityFacts extends KeycloakFacts {
  readonly operatorClient: string;
  readonly operatorSecretFile: string;
}

function factsOf({ parts }: ClusterStatus): IdentityFacts {
  const found = parts.find(({ name }) => name === 'identity');
  if (!found) throw new Error('The cluster has no Keycloak');
  return found.facts as unknown as IdentityFacts;
}

/** How the operator of the labs finds Keycloak: values of the chart. */
export function keycloakValues(cluster: ClusterStatus): {
  readonly flags: Readonly<Record<string, string>>;
  readonly set: Readonly<Record<string, unknown>>;
} {
  const { url, realm, client, operatorClient } = factsOf(cluster);
  return {
    flags: {
      'keycloak-url': url,
      'keycloak-realm': realm,
      'keycloak-client-id': operatorClient,
      'keycloak-roles-client-id': client,
    },
    set: { 'labs.tenants.keycloak.secretName': secretName, 'labs.tenants.keycloak.ownAuthority': true },
  };
}

/** The operator's secret, and who signs Keycloak's certificate. */
export async function applySecret(kubectl: Tool, cluster: ClusterStatus, folder: string): Promise<void> {
  const { operatorSecretFile, ca } = factsOf(cluster);
  const stringData = {
    'client-secret': (await readFile(operatorSecretFile, 'utf8')).trim(),
    'ca.crt': await readFile(ca, 'utf8'),
  };
  const metadata = { name: secretName, namespace: chartNamespace };
  const file = join(folder, `${secretName}.json`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata, stringData }), { mode: 0o600 });
  // By the server: else what was applied, with the secret in it, would be in an annotation.
  await kubectl('apply', '--server-side', '--force-conflicts', '--filename', file);
}

export interface Login {
  readonly kubectl: Tool;
  readonly cluster: ClusterStatus;
  readonly folder: string;
}

/** Logs in by password, and returns the groups that Kubernetes then sees. `role` must be among them: `workspace-<name>:<role>`. */
export async function logIn({ kubectl, cluster, folder }: Login, person: string, role: string): Promise<string[]> {
  const facts = factsOf(cluster);
  const keycloak = await openKeycloak(facts);
  const password = await ensurePassword(folder, person);
  return patiently(async () => {
    const isKnown = (await keycloak.login(person, password)).status === 200;
    if (!isKnown) await keycloak.setPassword(person, password);
    const { id_token: token } = await keycloak.tokensOf(person, password);
    const file = join(folder, `${person}.kubeconfig`);
    await writeFile(file, kubeconfig(cluster.addresses.apiServer, facts.ca, person, token), { mode: 0o600 });
    // The administrator's certificate of --kubeconfig would count first.
    const answer = await kubectl('auth', 'whoami', `--kubeconfig=${file}`, '--output=json');
    const { username, groups } = (JSON.parse(answer) as WhoAmI).status.userInfo;
    const wanted = `kubernetes:${role}`;
    if (username !== person || !groups.includes(wanted))
      throw new Error(`${person} was to be in group ${wanted}, and is ${username} in ${groups.join(', ')}`);
    return groups.filter((group) => group.startsWith('kubernetes:'));
  });
}

interface WhoAmI {
  readonly status: { readonly userInfo: { readonly username: string; readonly groups: readonly string[] } };
}

async function ensurePassword(folder: string, person: string): Promise<string> {
  const file = join(folder, `${person}.password`);
  if (!existsSync(file)) await writeFile(file, `${randomBytes(12).toString('base64url')}\n`, { mode: 0o600 });
  return (await readFile(file, 'utf8')).trim();
}

const kubeconfig = (server: string, ca: string, user: string, token: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'podloom', cluster: { server, 'certificate-authority': ca } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: user, context: { cluster: 'podloom', user } }],
    'current-context': user,
  });
