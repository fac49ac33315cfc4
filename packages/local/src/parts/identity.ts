/**
 * Identity: Keycloak at the control plane's address, with a realm whose users the API server knows by their tokens: by name, and by groups
 * that are roles of the client `k8s`. Its issuer is that address, for people, pods and the API server alike.
 */
import { createHash } from 'node:crypto';
import { readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Unavailable } from '@podloom/api';
import type { Client } from '@podloom/kube';
import type { ClusterPlan } from '../cluster/plan.ts';
import { renderAuthentication } from '../config/authentication.ts';
import { authenticationFile } from '../config/control-plane.ts';
import { ensureKeycloak } from '../keycloak/install.ts';
import { operatorClient, realmName, renderRealm, userClient } from '../keycloak/realm.ts';
import {
  adminName,
  importFolder,
  keycloakCommand,
  keycloakEnv,
  keycloakUrl,
  programFolders,
} from '../keycloak/server.ts';
import { isHealthy } from '../process/https.ts';
import { waitFor } from '../process/wait.ts';
import { confined, ownFolder, seenAs } from '../supervisor/confined.ts';
import type { Part } from './part.ts';
import { ensureSecret, readIfThere } from './secret.ts';

const port = 8443;
const user = 61_003;
/** On two busy cores a first start takes half a minute. */
const patience = { timeoutMs: 280_000, everyMs: 200 };

const dirOf = (plan: ClusterPlan): string => join(plan.dir, 'identity');
const urlOf = (plan: ClusterPlan): string => keycloakUrl({ address: plan.controlAddress, port });
const issuerOf = (plan: ClusterPlan): string => `${urlOf(plan)}/realms/${realmName}`;
const adminPasswordFile = (plan: ClusterPlan): string => join(dirOf(plan), 'admin-password');
const operatorSecretFile = (plan: ClusterPlan): string => join(dirOf(plan), 'operator-secret');

export const identity: Part = {
  modules: [],
  certificates: (plan) => ({ identity: { commonName: 'podloom-identity', names: [plan.controlAddress] } }),
  facts: (plan) => ({
    url: urlOf(plan),
    realm: realmName,
    issuer: issuerOf(plan),
    ca: join(plan.pki, 'ca.crt'),
    client: userClient,
    admin: adminName,
    adminPasswordFile: adminPasswordFile(plan),
    operatorClient,
    operatorSecretFile: operatorSecretFile(plan),
  }),

  async prepare({ progress, signal }) {
    await ensureKeycloak({ ...(progress && { progress }), ...(signal && { signal }) });
  },

  async start(work) {
    const { plan, launcher, signal, client } = work;
    const adminPassword = await ensureSecret(adminPasswordFile(plan));
    const program = await ensureKeycloak({ signal });
    await writeHome(plan);
    const home = seenAs('home');
    const place = {
      home,
      address: plan.controlAddress,
      port,
      certificate: join(home, 'tls.crt'),
      key: join(home, 'tls.key'),
    };
    const command = keycloakCommand(place);
    const folders = { home: join(dirOf(plan), 'home'), program };
    const env = keycloakEnv(home, adminPassword);
    launcher.inControl('keycloak', ['unshare', ...confined({ user, folders, command })], env);

    const ca = await readFile(join(plan.pki, 'ca.crt'), 'utf8');
    const restarts = launcher.restartsOf('keycloak');
    await waitFor(
      async () => {
        if (launcher.restartsOf('keycloak') > restarts + 2) throw new EndsAgain();
        return isHealthy(`${issuerOf(plan)}/.well-known/openid-configuration`, { ca });
      },
      { what: 'An answer of Keycloak', ...patience, signal },
    );
    await introduce(plan, client, ca, signal);
  },
};

class EndsAgain extends Unavailable {
  constructor() {
    super('KEYCLOAK', 'Keycloak ends as soon as it was started; see: podloom cluster logs keycloak');
  }
}

async function writeHome(plan: ClusterPlan): Promise<void> {
  const home = join(dirOf(plan), 'home');
  const pki = async (name: string) => readFile(join(plan.pki, name), 'utf8');
  const operatorSecret = await ensureSecret(operatorSecretFile(plan));
  await ownFolder(user, home, { 'tls.crt': await pki('identity.crt'), 'tls.key': await pki('identity.key') });
  await ownFolder(user, join(home, 'data'));
  await ownFolder(user, join(home, importFolder), { [`${realmName}.json`]: renderRealm({ operatorSecret }) });
  for (const folder of programFolders) {
    await rm(join(home, folder), { force: true });
    await symlink(seenAs('program', folder), join(home, folder));
  }
}

/** Tells the API server of the issuer, and returns when it believes it: that is when it has got the issuer's keys. */
async function introduce(plan: ClusterPlan, client: Client, authority: string, signal: AbortSignal): Promise<void> {
  const file = authenticationFile(plan.dir);
  const text = renderAuthentication({ url: issuerOf(plan), authority, audience: userClient });
  const hash = createHash('sha256').update(text).digest('hex');
  if ((await readIfThere(file)) !== text) {
    await writeFile(`${file}.new`, text, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
  const metric = new RegExp(
    `^apiserver_authentication_config_controller_last_config_info\\{.*hash="sha256:${hash}"`,
    'm',
  );
  await waitFor(async () => metric.test((await client.request('/metrics')).text), {
    what: 'That the API server believes Keycloak',
    ...patience,
    everyMs: 500,
    signal,
  });
}
