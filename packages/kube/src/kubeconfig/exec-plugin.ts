/**
 * Credentials from a program that the kubeconfig names (client.authentication.k8s.io): run when first needed, when its answer expires and
 * when the server refuses it. Its standard error goes to ours, because it speaks to the person at the terminal; its
 * standard output is a secret and never gets into a message.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { text as readText } from 'node:stream/consumers';
import { InvalidInput, Unavailable } from '@podloom/api';
import type { CredentialSource, Credentials } from './cluster.ts';

export interface ExecPlugin {
  /** Already resolved against the kubeconfig's folder. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly apiVersion: string;
  readonly installHint?: string | undefined;
  readonly interactiveMode: 'Never' | 'IfAvailable' | 'Always';
  /** Given to the plugin where `provideClusterInfo` asks for it. */
  readonly cluster?: Readonly<Record<string, unknown>> | undefined;
}

const apiVersions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
/** Renewed a little early, so that a credential does not expire on its way. */
const leewayMs = 5_000;
const timeoutMs = 60_000;

export function execPluginCredentials(plugin: ExecPlugin, now: () => number = Date.now): CredentialSource {
  if (!apiVersions.includes(plugin.apiVersion)) {
    throw new InvalidInput(
      'EXEC_PLUGIN',
      `exec plugin: apiVersion must be ${apiVersions.join(' or ')}, not ${plugin.apiVersion}`,
    );
  }
  if (plugin.interactiveMode === 'Always' && !process.stdin.isTTY) {
    throw new InvalidInput('EXEC_PLUGIN', `exec plugin ${plugin.command} needs a terminal (interactiveMode: Always)`);
  }
  let current: Promise<Answer> | undefined;
  let latest: Answer | undefined;
  // Many calls may wait for one run; a failed run is not remembered.
  const start = async () => {
    try {
      latest = await run(plugin);
      return latest;
    } finally {
      current = undefined;
    }
  };
  return {
    async get() {
      if (latest && now() < latest.expiresAt - leewayMs) return latest.credentials;
      current ??= start();
      return (await current).credentials;
    },
    renew(refused) {
      if (latest?.credentials === refused) latest = undefined;
      return true;
    },
  };
}

interface Answer {
  readonly credentials: Credentials;
  readonly expiresAt: number;
}

async function run(plugin: ExecPlugin): Promise<Answer> {
  const interactive = plugin.interactiveMode !== 'Never' && process.stdin.isTTY;
  const info = {
    apiVersion: plugin.apiVersion,
    kind: 'ExecCredential',
    spec: { interactive, ...(plugin.cluster ? { cluster: plugin.cluster } : {}) },
  };
  const child = spawn(plugin.command, plugin.args, {
    env: { ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
    stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
    // A person may take as long as he likes.
    ...(interactive ? {} : { timeout: timeoutMs }),
  });
  const [output] = await Promise.all([readText(child.stdout), ended(child, plugin)]);
  return parseAnswer(output, plugin);
}

/** Node's own messages repeat the command line, where people put secrets. */
function ended(child: ChildProcess, plugin: ExecPlugin): Promise<void> {
  const fail = (what: string) => new Unavailable('EXEC_PLUGIN', `exec plugin ${plugin.command} ${what}`);
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      const hint = plugin.installHint ?? 'install it or put it on the PATH';
      reject(fail(error.code === 'ENOENT' ? `is not there: ${hint}` : `cannot be run (${error.code})`));
    });
    child.once('exit', (code, signal) => {
      if (code === 0) resolve();
      else reject(fail(`${signal ? `was ended by ${signal}` : `failed with ${code}`}; run it by hand to see why`));
    });
  });
}

function parseAnswer(text: string, plugin: ExecPlugin): Answer {
  const answer = parseJson(text) as { apiVersion?: unknown; status?: Record<string, unknown> } | undefined;
  const status = answer?.status;
  const field = (name: string) => (typeof status?.[name] === 'string' ? status[name] : undefined);
  const token = field('token');
  const cert = field('clientCertificateData');
  const key = field('clientKeyData');
  if (answer?.apiVersion !== plugin.apiVersion || (!token && !(cert && key))) {
    throw new Unavailable(
      'EXEC_PLUGIN',
      `exec plugin ${plugin.command} did not print an ExecCredential of ${plugin.apiVersion} with a token or a certificate and key`,
    );
  }
  const expires = field('expirationTimestamp');
  const expiresAt = expires ? Date.parse(expires) : Number.POSITIVE_INFINITY;
  if (Number.isNaN(expiresAt))
    throw new Unavailable('EXEC_PLUGIN', `exec plugin ${plugin.command}: expirationTimestamp is no time`);
  return {
    credentials: {
      authorization: token ? `Bearer ${token}` : undefined,
      certificate: cert && key ? { cert, key } : undefined,
    },
    expiresAt,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
