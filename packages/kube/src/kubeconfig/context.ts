/** Makes of a kubeconfig's context what a client needs: addresses, certificates and a way to get credentials. */
import { readFileSync } from 'node:fs';
import { InvalidInput } from '@podloom/api';
import { certificateFileCredentials } from './certificate-files.ts';
import {
  type ClientCertificate,
  type ClusterConfig,
  type CredentialSource,
  fixedCredentials,
  type TlsOptions,
} from './cluster.ts';
import { execPluginCredentials } from './exec-plugin.ts';
import type { ClusterEntry, ExecEntry, Kubeconfig, UserEntry } from './file.ts';
import { tokenFileCredentials } from './token-file.ts';

type Env = Readonly<Record<string, string | undefined>>;

export function clusterOf(config: Kubeconfig, contextName: string | undefined, env: Env): ClusterConfig {
  const name = contextName ?? config.currentContext;
  if (!name)
    throw new InvalidInput(
      'KUBECONFIG',
      `the kubeconfig has no current-context; choose one of: ${names(config.contexts)}`,
    );
  const context = entry(config.contexts, name, 'context');
  const clusterName = context.cluster ?? '';
  const cluster = entry(config.clusters, clusterName, 'cluster');
  const user = context.user ? entry(config.users, context.user, 'user') : {};
  return {
    server: parseUrl(cluster.server, `cluster "${clusterName}": server`, ['https:', 'http:']),
    namespace: context.namespace || 'default',
    tls: async () => tlsOf(cluster, user, context.user ?? ''),
    proxy: cluster['proxy-url']
      ? parseUrl(cluster['proxy-url'], `cluster "${clusterName}": proxy-url`, [
          'http:',
          'https:',
          'socks5:',
          'socks5h:',
        ])
      : undefined,
    credentials: credentialsOf(user, cluster, context.user ?? '', env),
    headers: impersonation(user),
  };
}

function entry<V>(entries: ReadonlyMap<string, V>, name: string, what: string): V {
  const found = entries.get(name);
  if (!found)
    throw new InvalidInput('KUBECONFIG', `the kubeconfig has no ${what} "${name}"; it has: ${names(entries)}`);
  return found;
}

const names = (entries: ReadonlyMap<string, unknown>) => [...entries.keys()].join(', ') || 'none';

/** The address itself is not repeated in the message: a proxy's may hold a password. */
function parseUrl(text: string | undefined, what: string, protocols: readonly string[]): URL {
  const url = URL.parse(text ?? '');
  if (!url || !protocols.includes(url.protocol)) {
    throw new InvalidInput(
      'KUBECONFIG',
      `${what} must be an address that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`,
    );
  }
  return url;
}

function tlsOf(cluster: ClusterEntry, user: UserEntry, userName: string): TlsOptions {
  return {
    certificate: certificateOf(user, userName),
    ca: dataOrFile(cluster['certificate-authority-data'], cluster['certificate-authority']),
    serverName: cluster['tls-server-name'],
    insecure: cluster['insecure-skip-tls-verify'] ?? false,
  };
}

function certificateOf(user: UserEntry, userName: string): ClientCertificate | undefined {
  const cert = dataOrFile(user['client-certificate-data'], user['client-certificate']);
  const key = dataOrFile(user['client-key-data'], user['client-key']);
  if (Boolean(cert) !== Boolean(key)) {
    throw new InvalidInput('KUBECONFIG', `user "${userName}" has only one of client certificate and client key`);
  }
  return cert && key ? { cert, key } : undefined;
}

function dataOrFile(data: string | undefined, path: string | undefined): string | undefined {
  if (data) return decoded(data);
  if (!path) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new InvalidInput('KUBECONFIG', `${path}, named in the kubeconfig, cannot be read`, { cause });
  }
}

const decoded = (base64: string) => Buffer.from(base64, 'base64').toString('utf8');

/** Precedence as in kubectl: a token, then its file, then a password, then the plugin. A certificate is shown beside them. */
function credentialsOf(user: UserEntry, cluster: ClusterEntry, name: string, env: Env): CredentialSource {
  if (user.token) return fixedCredentials({ authorization: `Bearer ${user.token}` });
  if (user.tokenFile) return tokenFileCredentials(user.tokenFile);
  if (user.username) {
    const basic = Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64');
    return fixedCredentials({ authorization: `Basic ${basic}` });
  }
  if (user.exec) return execPluginCredentials(pluginOf(user.exec, cluster, name, env));
  if (user['auth-provider']) {
    throw new InvalidInput(
      'KUBECONFIG',
      `user "${name}" uses an auth-provider, which Kubernetes removed; use an exec plugin instead`,
    );
  }
  if (user['client-certificate'] || user['client-key'])
    return certificateFileCredentials(() => certificateOf(user, name));
  return fixedCredentials({});
}

function pluginOf(exec: ExecEntry, cluster: ClusterEntry, name: string, env: Env) {
  if (!exec.command) throw new InvalidInput('KUBECONFIG', `user "${name}": exec has no command`);
  return {
    command: exec.command,
    args: exec.args ?? [],
    env: { ...env, ...Object.fromEntries((exec.env ?? []).map((variable) => [variable.name, variable.value])) },
    apiVersion: exec.apiVersion ?? '',
    installHint: exec.installHint,
    interactiveMode: exec.interactiveMode ?? 'IfAvailable',
    cluster: exec.provideClusterInfo ? clusterInfo(cluster) : undefined,
  };
}

/** The `Cluster` type of client.authentication.k8s.io: the kubeconfig's entry, plus the extension that is meant for plugins. */
function clusterInfo(cluster: ClusterEntry): Readonly<Record<string, unknown>> {
  const { extensions, ...info } = cluster;
  const config = extensions?.find(({ name }) => name === 'client.authentication.k8s.io/exec')?.extension;
  return { ...info, ...(config === undefined ? {} : { config }) };
}

function impersonation(user: UserEntry): Readonly<Record<string, string | string[]>> {
  return {
    ...(user.as ? { 'impersonate-user': user.as } : {}),
    ...(user['as-uid'] ? { 'impersonate-uid': user['as-uid'] } : {}),
    ...(user['as-groups']?.length ? { 'impersonate-group': user['as-groups'] } : {}),
  };
}
