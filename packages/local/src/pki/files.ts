/** Which certificates a cluster has, and where they are kept. Made once: a cluster that comes back keeps its identity. */
import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Authority, LeafRequest } from './x509.ts';

export interface PkiRequest {
  /** Names and addresses under which the API server is called. */
  apiServerNames: readonly string[];
  /** Where clients find the API server. */
  server: string;
  nodes: readonly { name: string; address: string }[];
  /** Further servers and clients of a cluster, by the name of their files. */
  others?: Readonly<Record<string, LeafRequest>>;
}

/** Writes all keys, certificates and kubeconfigs to `dir` unless they are there. What an older version did not have is added. */
export async function ensurePki(dir: string, request: PkiRequest): Promise<void> {
  if (!(await isThere(dir))) await createPki(dir, request);
  const wanted = Object.keys(leaves(request));
  const missing = await Promise.all(wanted.map(async (name) => !(await isThere(join(dir, `${name}.kubeconfig`)))));
  if (!missing.includes(true)) return;
  const { openAuthority } = await import('./x509.ts');
  const [certificate, key] = await Promise.all(['ca.crt', 'ca.key'].map((name) => readFile(join(dir, name), 'utf8')));
  const authority = await openAuthority({ certificate: certificate ?? '', key: key ?? '' });
  const names = wanted.filter((_, index) => missing[index]);
  await writeLeaves(dir, authority, request, names);
}

/** Complete or absent, never half. */
async function createPki(dir: string, request: PkiRequest): Promise<void> {
  // Loaded here and not above: the supervisor and most commands never make a certificate.
  const { createAuthority, createSigningKey } = await import('./x509.ts');
  const unfinished = `${dir}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true, mode: 0o700 });

  const authority = await createAuthority('podloom');
  const write = async (name: string, text: string) => writeFile(join(unfinished, name), text, { mode: 0o600 });
  await write('ca.crt', authority.pair.certificate);
  await write('ca.key', authority.pair.key);
  const signing = await createSigningKey();
  await write('service-account.pub', signing.publicKey);
  await write('service-account.key', signing.key);
  await writeLeaves(unfinished, authority, request, Object.keys(leaves(request)));
  await rename(unfinished, dir);
}

/** The kubeconfig of each comes last, and says that the rest is there. */
async function writeLeaves(dir: string, authority: Authority, request: PkiRequest, names: readonly string[]) {
  const all = leaves(request);
  for (const name of names) {
    const pair = await authority.issue(all[name] ?? leaf(name));
    const kubeconfig = renderKubeconfig(request.server, authority.pair.certificate, pair);
    const files = { crt: pair.certificate, key: pair.key, kubeconfig };
    for (const [ending, text] of Object.entries(files)) {
      const path = join(dir, `${name}.${ending}`);
      await writeFile(`${path}.new`, text, { mode: 0o600 });
      await rename(`${path}.new`, path);
    }
  }
}

function leaves({ apiServerNames, nodes, others = {} }: PkiRequest): Record<string, LeafRequest> {
  return {
    etcd: leaf('etcd', undefined, ['127.0.0.1', 'localhost']),
    apiserver: leaf('kube-apiserver', undefined, apiServerNames),
    'apiserver-kubelet-client': leaf('kube-apiserver-kubelet-client', 'system:masters'),
    'front-proxy-client': leaf('front-proxy-client'),
    admin: leaf('kubernetes-admin', 'system:masters'),
    'controller-manager': leaf('system:kube-controller-manager'),
    scheduler: leaf('system:kube-scheduler'),
    proxy: leaf('system:kube-proxy'),
    coredns: leaf('podloom:coredns'),
    ...Object.fromEntries(
      nodes.map(({ name, address }) => [name, leaf(`system:node:${name}`, 'system:nodes', [address, name])]),
    ),
    ...others,
  };
}

function leaf(commonName: string, organization?: string, names?: readonly string[]): LeafRequest {
  return { commonName, ...(organization && { organization }), ...(names && { names }) };
}

function renderKubeconfig(server: string, ca: string, pair: { certificate: string; key: string }): string {
  const named = { cluster: 'podloom', user: 'podloom' };
  return `${JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'podloom',
      clusters: [{ name: 'podloom', cluster: { server, 'certificate-authority-data': base64(ca) } }],
      contexts: [{ name: 'podloom', context: named }],
      users: [
        {
          name: 'podloom',
          user: { 'client-certificate-data': base64(pair.certificate), 'client-key-data': base64(pair.key) },
        },
      ],
    },
    null,
    2,
  )}\n`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
