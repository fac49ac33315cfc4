/** A real API server with our kinds installed, and the two verdicts on a manifest that must be the same: the server's and ours. */
import { customResourceDefinition, InvalidInput, kindOf, kinds, type Kind, type Resource } from '@podloom/api';
import {
  createClient,
  customResourceDefinitions,
  isApiError,
  loadConfig,
  namespaces,
  type Client,
} from '@podloom/kube';
import { inject, vi } from 'vitest';

export const namespace = 'api-kinds';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

export async function connectWithKinds(): Promise<Client> {
  const client = createClient({ ...(await loadConfig({ path: inject('kubeconfig') })), namespace });
  for (const kind of kinds) {
    await client.apply(customResourceDefinitions, customResourceDefinition(kind), {
      fieldManager: 'api-kinds',
      force: true,
    });
  }
  await client.apply(namespaces, { metadata: { name: namespace } }, { fieldManager: 'api-kinds' });
  for (const kind of kinds) await vi.waitFor(() => mustBeServed(client, kind), { timeout: 180_000 });
  return client;
}

async function mustBeServed(client: Client, kind: Kind): Promise<void> {
  const crd = await client.get(customResourceDefinitions, `${kind.plural}.${kind.group}`);
  const established = crd.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True');
  if (established !== true) throw new Error(`${kind.plural} is not established yet`);
  await client.list(kind.resource, { limit: 1 });
}

export interface Refusal {
  readonly field: string;
  readonly message: string;
}

/** What the server finds wrong, field by field; nothing where it accepts. A dry run goes through all of validation and stores nothing. */
export async function refusalsOf(client: Client, manifest: Manifest): Promise<readonly Refusal[]> {
  const resource: Resource = mustKnow(manifest).resource;
  try {
    await client.create(resource, manifest, { dryRun: true });
    return [];
  } catch (error) {
    if (!isApiError(error) || error.api.status !== 422) throw error;
    return error.api.causes.map(({ field = '', message = '' }) => ({ field, message }));
  }
}

export function isAcceptedByUs(manifest: Manifest): boolean {
  try {
    mustKnow(manifest).parse(manifest);
    return true;
  } catch (error) {
    if (error instanceof InvalidInput) return false;
    throw error;
  }
}

export function mustKnow(manifest: Manifest): Kind {
  const kind = kindOf(manifest);
  if (!kind) throw new Error(`${manifest.apiVersion} ${manifest.kind} is none of our kinds`);
  return kind;
}
