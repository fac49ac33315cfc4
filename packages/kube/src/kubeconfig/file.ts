/**
 * Reads kubeconfig files as kubectl does: several files are one configuration, in which the first to name something wins, and a
 * relative path belongs to the folder of the file that contains it. What is read here is only text; nothing is opened or run.
 */
import { dirname, isAbsolute, join } from 'node:path';
import { InvalidInput } from '@podloom/api';
import { parseDocument } from 'yaml';

export interface ClusterEntry {
  server?: string;
  'certificate-authority'?: string;
  'certificate-authority-data'?: string;
  'insecure-skip-tls-verify'?: boolean;
  'tls-server-name'?: string;
  'proxy-url'?: string;
  extensions?: { name: string; extension?: unknown }[];
}
export interface UserEntry {
  'client-certificate'?: string;
  'client-certificate-data'?: string;
  'client-key'?: string;
  'client-key-data'?: string;
  token?: string;
  tokenFile?: string;
  username?: string;
  password?: string;
  as?: string;
  'as-uid'?: string;
  'as-groups'?: string[];
  exec?: ExecEntry;
  'auth-provider'?: unknown;
}
export interface ExecEntry {
  command?: string;
  args?: string[] | null;
  env?: { name: string; value: string }[] | null;
  apiVersion?: string;
  installHint?: string;
  interactiveMode?: 'Never' | 'IfAvailable' | 'Always';
  provideClusterInfo?: boolean;
}
export interface ContextEntry {
  cluster?: string;
  user?: string;
  namespace?: string;
}

export interface Kubeconfig {
  readonly currentContext: string;
  readonly clusters: ReadonlyMap<string, ClusterEntry>;
  readonly users: ReadonlyMap<string, UserEntry>;
  readonly contexts: ReadonlyMap<string, ContextEntry>;
}

interface Document {
  'current-context'?: string;
  clusters?: { name: string; cluster?: ClusterEntry | null }[] | null;
  users?: { name: string; user?: UserEntry | null }[] | null;
  contexts?: { name: string; context?: ContextEntry | null }[] | null;
}

/** `path` is for messages and for relative paths inside. */
export function parseKubeconfig(text: string, path: string): Kubeconfig {
  // Neither the parser's message nor its excerpt is used: the offending line may hold a token.
  const document = parseDocument(text, { prettyErrors: false, version: '1.1', merge: true });
  const broken = document.errors[0];
  if (broken) {
    const line = text.slice(0, broken.pos[0]).split('\n').length;
    throw new InvalidInput('KUBECONFIG', `${path} is not valid YAML near line ${line}`);
  }
  const content = (document.toJS() ?? {}) as Document;
  if (typeof content !== 'object') throw new InvalidInput('KUBECONFIG', `${path} is not a kubeconfig`);
  const folder = dirname(path);
  return {
    currentContext: content['current-context'] ?? '',
    clusters: byName(content.clusters, 'clusters', path, ({ cluster }) => absoluteCluster(cluster ?? {}, folder)),
    users: byName(content.users, 'users', path, ({ user }) => absoluteUser(user ?? {}, folder)),
    contexts: byName(content.contexts, 'contexts', path, ({ context }) => context ?? {}),
  };
}

function byName<E extends { name: string }, V>(
  entries: E[] | null | undefined,
  what: string,
  path: string,
  value: (entry: E) => V,
) {
  if (entries !== null && entries !== undefined && !Array.isArray(entries)) {
    throw new InvalidInput('KUBECONFIG', `${path}: "${what}" must be a list`);
  }
  const found = new Map<string, V>();
  for (const entry of entries ?? []) if (!found.has(entry.name)) found.set(entry.name, value(entry));
  return found;
}

const inFolder = (folder: string, path: string) => (isAbsolute(path) ? path : join(folder, path));

function absoluteCluster(entry: ClusterEntry, folder: string): ClusterEntry {
  const ca = entry['certificate-authority'];
  return ca ? { ...entry, 'certificate-authority': inFolder(folder, ca) } : entry;
}

function absoluteUser(entry: UserEntry, folder: string): UserEntry {
  const user = { ...entry };
  for (const field of ['client-certificate', 'client-key', 'tokenFile'] as const) {
    const path = user[field];
    if (path) user[field] = inFolder(folder, path);
  }
  // As for a shell: a bare name is looked up on the PATH, anything with a slash is a file.
  const command = user.exec?.command;
  if (user.exec && command?.includes('/')) user.exec = { ...user.exec, command: inFolder(folder, command) };
  return user;
}

export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  const merged = <V>(part: (config: Kubeconfig) => ReadonlyMap<string, V>) => {
    const all = new Map<string, V>();
    for (const config of configs.toReversed()) for (const [name, entry] of part(config)) all.set(name, entry);
    return all;
  };
  return {
    currentContext: configs.find((config) => config.currentContext)?.currentContext ?? '',
    clusters: merged((config) => config.clusters),
    users: merged((config) => config.users),
    contexts: merged((config) => config.contexts),
  };
}
