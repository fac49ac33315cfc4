/**
 * A real API server with the kinds of the labs, operators that serve only what carries the label of the test, and what stands in for controllers that
 * are not there: a namespace, claim or volume that is deleted goes. No kubelet, no scheduler, no garbage collector.
 */
import { randomUUID } from 'node:crypto';
import {
  type KubeObject,
  type Tenant,
  type TenantSpecInput,
  Unavailable,
  type Workspace,
  customResourceDefinition,
  labsKinds,
  tenantKind,
  workspaceKind,
} from '@podloom/api';
import {
  type Cache,
  type Client,
  type Namespace,
  type Resource,
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  createClient,
  createLog,
  createMetrics,
  customResourceDefinitions,
  jobs,
  limitRanges,
  loadConfig,
  namespaces,
  networkPolicies,
  persistentVolumeClaims,
  persistentVolumes,
  resourceQuotas,
  roleBindings,
  roles,
  secrets,
  silentLog,
  startCache,
  unlessGone,
} from '@podloom/kube';
import { type Identity, labsOperatorSettings, runLabsOperator } from '@podloom/labs-operator';
import { expect, inject, onTestFinished, vi } from 'vitest';
import { seeingWrites } from '../network-operator/writes.ts';
import { eventually } from '../setup/eventually.ts';

export interface RunningOperator {
  stop(): Promise<void>;
  /** As kill -9: nothing that it would still write arrives. */
  kill(): Promise<void>;
}

export interface LabsWorld {
  readonly client: Client;
  /** A part of every name of the test. */
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly driveNamespace: string;
  /** `seen` is called before each write of the operator, with its verb and resource. */
  operator(
    args?: readonly string[],
    seen?: (verb: string, plural: string) => void,
    identity?: Identity,
  ): Promise<RunningOperator>;
  workspace(name: string, spec?: object): Promise<Workspace>;
  tenant(name: string, spec?: Partial<TenantSpecInput>): Promise<Tenant>;
  getWorkspace(name: string): Promise<Workspace | undefined>;
  getTenant(name: string): Promise<Tenant | undefined>;
  /** `Kind namespace/name` of every object of the test, but for Tenants and Workspaces. */
  objects(): Promise<string[]>;
  resourceVersions(): Promise<Record<string, string>>;
}

let installed: Promise<void> | undefined;

async function installKinds(client: Client): Promise<void> {
  for (const kind of labsKinds) {
    const crd = customResourceDefinition(kind);
    await client.apply(customResourceDefinitions, crd, { fieldManager: 'test', force: true });
  }
  for (const { resource } of labsKinds) {
    await vi.waitFor(() => client.list(resource, { limit: 1 }), { timeout: 120_000 });
  }
}

const made: readonly Resource[] = [
  namespaces,
  clusterRoles,
  clusterRoleBindings,
  roles,
  roleBindings,
  configMaps,
  secrets,
  resourceQuotas,
  limitRanges,
  networkPolicies,
  persistentVolumeClaims,
  persistentVolumes,
  jobs,
];

const keyOf = ({ kind, metadata }: KubeObject): string =>
  [kind, [metadata.namespace, metadata.name].filter(Boolean).join('/')].join(' ');

/** Another server than that of the tier, with the kinds on it, and the user that the operator is there. */
export interface Elsewhere {
  readonly kubeconfig: string;
  readonly user: string;
  readonly namespace: string;
}

export async function labsWorld(elsewhere?: Elsewhere): Promise<LabsWorld> {
  const config = await loadConfig({ path: elsewhere?.kubeconfig ?? inject('kubeconfig') });
  const headers: Record<string, string> = elsewhere ? { 'impersonate-user': elsewhere.user } : {};
  const id = randomUUID().slice(0, 8);
  const namespace = elsewhere?.namespace ?? `labs-${id}`;
  const driveNamespace = `drives-${id}`;
  const labels = { 'test.podloom/id': id };
  const labelSelector = `test.podloom/id=${id}`;
  const client = createClient({ ...config, namespace });
  if (!elsewhere) {
    await (installed ??= installKinds(client));
    await client.create(namespaces, { metadata: { name: namespace, labels } });
  }
  const stop = new AbortController();
  const keeping = standIn(client, labelSelector, stop.signal);
  const running: RunningOperator[] = [];
  onTestFinished(async () => {
    for (const one of running) await one.stop();
    await removeEverything(client, labelSelector, driveNamespace);
    stop.abort();
    await keeping;
  });

  const listMade = async (): Promise<KubeObject[]> => {
    const lists = await Promise.all(made.map((resource) => client.list(resource, { labelSelector })));
    return lists.flatMap(({ items }) => items).filter(({ metadata }) => metadata.name !== namespace);
  };
  const write = <T extends KubeObject>(resource: Resource<T>, name: string, spec: object): Promise<T> =>
    client.apply(resource, { metadata: { name, labels }, spec } as never, {
      fieldManager: 'administrator',
      force: true,
    });

  return {
    client,
    id,
    labels,
    driveNamespace,
    async operator(args = [], seen = () => undefined, identity) {
      const one = startOperator(
        { ...config, headers },
        [
          `--namespace=${namespace}`,
          `--target-label=test.podloom/id=${id}`,
          `--mydrive-pvcs-namespace=${driveNamespace}`,
          ...args,
        ],
        seen,
        identity,
      );
      running.push(one);
      return one;
    },
    workspace: (name, spec = {}) =>
      write(workspaceKind.resource, name, {
        prettyName: name,
        quota: { cpu: 2, memory: '4Gi', instances: 2 },
        ...spec,
      }),
    tenant: (name, spec = {}) =>
      write(tenantKind.resource, name, { firstName: 'John', lastName: 'Doe', email: 'john.doe@example.com', ...spec }),
    getWorkspace: (name) => unlessGone(() => client.get(workspaceKind.resource, name)),
    getTenant: (name) => unlessGone(() => client.get(tenantKind.resource, name)),
    objects: async () => (await listMade()).map(keyOf).toSorted(),
    async resourceVersions() {
      const people = await Promise.all(
        [workspaceKind.resource, tenantKind.resource].map((resource) =>
          client.list<KubeObject>(resource as Resource, { labelSelector }),
        ),
      );
      const all = [...(await listMade()), ...people.flatMap(({ items }) => items)];
      return Object.fromEntries(all.map((one) => [keyOf(one), one.metadata.resourceVersion ?? '']));
    },
  };
}

/** The last pass saw the Tenant as it is now, and nothing failed. */
export const untilReady = ({ getTenant }: Pick<LabsWorld, 'getTenant'>, name: string): Promise<void> =>
  eventually(async () => {
    const tenant = await getTenant(name);
    expect(tenant?.status).toMatchObject({ ready: true, observedGeneration: tenant?.metadata.generation });
  });

function startOperator(
  config: Awaited<ReturnType<typeof loadConfig>>,
  args: readonly string[],
  seen: (verb: string, plural: string) => void,
  identity: Identity | undefined,
): RunningOperator {
  const stop = new AbortController();
  let isDead = false;
  let isOver = false;
  const client = seeingWrites(createClient(config), (verb, plural) => {
    seen(verb, plural);
    if (isDead) throw new Unavailable('TEST', 'Killed');
  });
  const ended = runLabsOperator(
    labsOperatorSettings.read({ args, env: {}, file: { leaseDuration: '3s' } }),
    {
      client,
      log: createLog({ name: 'labs-operator', level: process.env['LOG'] === undefined ? 'silent' : 'debug' }),
      metrics: createMetrics(),
      signal: stop.signal,
      force: () => undefined,
    },
    identity,
  );
  // Whoever stops it hears of the failure; until then it is nobody's, and Node would end the whole run for it.
  ended.catch(() => undefined);
  const finish = async () => {
    if (isOver) return;
    isOver = true;
    stop.abort();
    await ended.catch((error: unknown) => (isDead ? undefined : Promise.reject(error)));
  };
  return {
    stop: finish,
    async kill() {
      isDead = true;
      await finish();
    },
  };
}

const ignoreRaces = (call: () => Promise<unknown>) =>
  void call().catch((error: unknown) => {
    if (!(error instanceof Unavailable)) throw error;
  });

/** Lets go what a controller of Kubernetes would let go. */
async function standIn(client: Client, labelSelector: string, signal: AbortSignal): Promise<void> {
  const watch = <T extends KubeObject>(resource: Resource<T>, release: (object: T) => Promise<unknown>): Cache<T> => {
    const cache = startCache({ client, resource, labelSelector, log: silentLog, signal });
    cache.subscribe(({ now }) => {
      if (now?.metadata.deletionTimestamp) ignoreRaces(() => unlessGone(() => release(now)));
    });
    return cache;
  };
  const unprotect = (resource: Resource) => (object: KubeObject) =>
    client.patch(
      resource,
      object.metadata.name ?? '',
      { metadata: { finalizers: null } },
      { type: 'merge', namespace: object.metadata.namespace },
    );
  const caches = [
    watch(namespaces, (space: Namespace) => emptyAndFinalize(client, space)),
    watch(persistentVolumeClaims, unprotect(persistentVolumeClaims)),
    watch(persistentVolumes, unprotect(persistentVolumes)),
  ];
  await Promise.all(caches.map(({ ended }) => ended));
}

async function emptyAndFinalize(client: Client, space: Namespace): Promise<void> {
  const namespace = space.metadata.name ?? '';
  for (const resource of made) {
    if (resource.namespaced) await client.deleteCollection(resource, { namespace, propagationPolicy: 'Background' });
  }
  await client.update(namespaces, { ...space, spec: { finalizers: [] } }, { subresource: 'finalize' });
}

async function removeEverything(client: Client, labelSelector: string, driveNamespace: string): Promise<void> {
  for (const resource of [tenantKind.resource, workspaceKind.resource] as Resource[]) {
    for (const { metadata } of (await client.list(resource, { labelSelector })).items) {
      const patch = { metadata: { finalizers: null } };
      await unlessGone(() => client.patch(resource, metadata.name ?? '', patch, { type: 'merge' }));
      await unlessGone(() => client.delete(resource, metadata.name ?? ''));
    }
  }
  for (const resource of made) {
    for (const { metadata } of (await client.list(resource, { labelSelector })).items) {
      await unlessGone(() => client.delete(resource, metadata.name ?? '', { namespace: metadata.namespace }));
    }
  }
  await unlessGone(() => client.delete(namespaces, driveNamespace));
}
