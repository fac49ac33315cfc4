/**
 * Only a Keycloak, on this machine's loopback, with the realm that a private cluster's begins with: what tests of a client need. It takes some
 * ten seconds and no root. It ends with the process that started it, even if that is killed.
 */
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Unavailable } from '@podloom/api';
import { ensureKeycloak, type InstallOptions } from './keycloak/install.ts';
import { operatorClient, realmName, renderRealm, userClient } from './keycloak/realm.ts';
import {
  adminName,
  importFolder,
  keycloakCommand,
  keycloakEnv,
  keycloakUrl,
  programFolders,
} from './keycloak/server.ts';
import { ensureSecret } from './parts/secret.ts';
import { isHealthy } from './process/https.ts';
import { end, hasEnded, startMortal } from './process/mortal.ts';
import { reservePorts } from './process/ports.ts';
import { waitFor } from './process/wait.ts';

export interface KeycloakServerOptions extends InstallOptions {
  /** A folder for data, certificates and the log; the caller removes it. */
  dir: string;
}

/** Addresses, names and files are called as in the facts of the part `identity`. */
export interface KeycloakServer {
  url: string;
  realm: string;
  issuer: string;
  ca: string;
  client: string;
  admin: string;
  adminPasswordFile: string;
  operatorClient: string;
  operatorSecretFile: string;
  /** As in an outage: connections break without a word. */
  kill(): Promise<void>;
  /** At the same address, with the same data. Returns when it answers. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export async function startKeycloak({ dir, progress, signal }: KeycloakServerOptions): Promise<KeycloakServer> {
  const program = await ensureKeycloak({ ...(progress && { progress }), ...(signal && { signal }) });
  await using undo = new AsyncDisposableStack();
  const [port = 0] = undo.use(await reservePorts(1)).numbers;
  const file = (name: string) => join(dir, name);
  const home = file('home');
  const place = { home, address: '127.0.0.1', port, certificate: file('tls.crt'), key: file('tls.key') };
  const secrets = { adminPasswordFile: file('admin-password'), operatorSecretFile: file('operator-secret') };
  await writeHome(home, program, await ensureSecret(secrets.operatorSecretFile));
  await writeCertificate(dir);
  const [command, ...args] = keycloakCommand(place);
  const env = {
    ...keycloakEnv(home, await ensureSecret(secrets.adminPasswordFile)),
    JDK_JAVA_OPTIONS: `-Djava.io.tmpdir=${join(home, 'data')}`,
  };
  const ca = await readFile(file('ca.crt'), 'utf8');
  const url = keycloakUrl(place);
  const issuer = `${url}/realms/${realmName}`;
  let child: ReturnType<typeof startMortal> | undefined;
  undo.defer(() => end(child, 'SIGKILL'));

  async function start(): Promise<void> {
    const log = file('keycloak.log');
    const own = startMortal(command, args, log, env);
    child = own;
    await waitFor(
      async () => {
        if (hasEnded(own)) throw new Unavailable('KEYCLOAK', `Keycloak ended at once; see ${log}`);
        return isHealthy(`${issuer}/.well-known/openid-configuration`, { ca });
      },
      { what: 'An answer of Keycloak', timeoutMs: 280_000, everyMs: 200, signal },
    );
  }

  await start();
  const owned = undo.move();
  return {
    url,
    realm: realmName,
    issuer,
    ca: file('ca.crt'),
    client: userClient,
    admin: adminName,
    operatorClient,
    ...secrets,
    start,
    kill: () => end(child, 'SIGKILL'),
    stop: () => owned.disposeAsync(),
  };
}

async function writeHome(home: string, program: string, operatorSecret: string): Promise<void> {
  await mkdir(join(home, importFolder), { recursive: true, mode: 0o700 });
  const realm = renderRealm({ operatorSecret });
  await writeFile(join(home, importFolder, `${realmName}.json`), realm, { mode: 0o600 });
  for (const folder of programFolders) {
    await rm(join(home, folder), { force: true });
    await symlink(join(program, folder), join(home, folder));
  }
}

async function writeCertificate(dir: string): Promise<void> {
  const { createAuthority } = await import('./pki/x509.ts');
  const authority = await createAuthority('podloom');
  const pair = await authority.issue({ commonName: 'podloom-identity', names: ['127.0.0.1', 'localhost'] });
  const files = { 'ca.crt': authority.pair.certificate, 'tls.crt': pair.certificate, 'tls.key': pair.key };
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text, { mode: 0o600 });
}
