/** Which certificates a cluster has, and where they are kept. Made once: a cluster that comes back keeps its identity. */
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LeafRequest } from './x509.ts';

export interface PkiRequest {
  /** Names and addresses under which the API server is called. */
  apiServerNames: readonly string[];
  /** Where clients find the API server. */
  server: string;
  nodes: readonly { name: string; address: string }[];
}

/** Writes all keys, certificates and kubeconfigs to `dir` unless it is there. Complete or absent, never half. */
export async function ensurePki(dir: string, request: PkiRequest): Promise<void> {
  if (await isThere(dir)) return;
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

  for (const [name, leaf] of Object.entries(leaves(request))) {
    const pair = await authority.issue(leaf);
    await write(`${name}.crt`, pair.certificate);
    await write(`${name}.key`, pair.key);
    await write(`${name}.kubeconfig`, renderKubeconfig(request.server, authority.pair.certificate, pair));
  }
  await rename(unfinished, dir);
}

function leaves({ apiServerNames, nodes }: PkiRequest): Record<string, LeafRequest> {
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
