/** People as a part of the operator: copies of all that is read, and the controllers of Workspaces and Tenants upon them. */
import { type KubeObject, type Tenant, type Workspace, tenantKind, workspaceKind } from '@podloom/api';
import {
  type Controller,
  type Dependency,
  type Log,
  type Part,
  controller,
  dependsOn,
  knocks,
  objectKey,
  ownedObjects,
  owns,
  telling,
} from '@podloom/kube';
import { labels } from '@podloom/labs';
import type { Identity, IdentityChange } from '../identity/identity.ts';
import { hasNews } from '../news.ts';
import { fieldManager } from '../settings.ts';
import { startCaches } from './caches.ts';
import type { PeopleContext } from './context.ts';
import { keepKnownNames } from './known-names.ts';
import type { PeopleOptions } from '../options.ts';
import { tenantReconciler } from './tenant.ts';
import { workspaceReconciler } from './workspace.ts';

export const people = (options: PeopleOptions, identity: Identity | undefined): Part => ({
  name: 'people',
  async start({ client, log, metrics, events, clock, signal, readiness }) {
    const over = new AbortController();
    const term = AbortSignal.any([signal, over.signal]);
    const caches = startCaches({ client, log, signal: term }, options.drive.namespace);
    readiness(() => caches.isSynced() || 'The caches are not filled yet');
    try {
      await caches.waitForSync();
      const owned = ownedObjects({ client, fieldManager, caches: caches.owns, clock });
      const context = { client, caches, owned, events, metrics, clock, options, identity };
      const controllers = [
        ...(options.serves.workspaces ? [workspaceController(context, log, term)] : []),
        ...(options.serves.tenants ? [tenantController(context, log, term)] : []),
      ];
      await Promise.all([...controllers.map((one) => one.run(term)), keepKnownNames(context, log, term)]);
    } finally {
      over.abort();
      await caches.ended();
    }
  },
});

function workspaceController(context: PeopleContext, log: Log, signal: AbortSignal): Controller {
  const { client, caches, metrics, clock, options, identity } = context;
  return controller<Workspace>({
    name: 'workspace',
    resource: telling(caches.workspaces, hasNews),
    reconcile: workspaceReconciler(context),
    concurrency: options.concurrency,
    watches: [
      ...caches.owns.map((cache) => owns(cache, workspaceKind.resource)),
      // The roster, candidates, and who is still enrolled in a Workspace that goes.
      dependsOn(telling(caches.tenants, hasNews), ({ spec }) => spec.workspaces?.map(({ name }) => ({ name })) ?? []),
      ...identityChanges(identity, signal, ({ what, name }) => (what === 'roles missing' ? [name] : [])),
    ],
    client,
    log,
    metrics,
    clock,
  });
}

function tenantController(context: PeopleContext, log: Log, signal: AbortSignal): Controller {
  const { client, caches, metrics, clock, options, identity } = context;
  const membersOf = (workspace: string) =>
    caches.tenants.by('workspace', workspace).map(({ metadata }) => metadata.name ?? '');
  return controller<Tenant>({
    name: 'tenant',
    resource: telling(caches.tenants, hasNews),
    reconcile: tenantReconciler(context),
    concurrency: options.concurrency,
    watches: [
      ...caches.owns.map((cache) => owns(cache, tenantKind.resource)),
      dependsOn(telling(caches.workspaces, hasNews), ({ metadata: { name = '' } }) =>
        membersOf(name).map((member) => ({ name: member })),
      ),
      dependsOn(caches.claims, (claim) => tenantOfDrive(claim, options.drive.namespace)),
      // A claim may show its volume before we have heard of that.
      dependsOn(caches.volumes, ({ spec }) => {
        const claim = caches.claims.get(spec?.claimRef?.name ?? '', spec?.claimRef?.namespace);
        return claim ? tenantOfDrive(claim, options.drive.namespace) : [];
      }),
      // Who had a role that was missing has it no longer.
      ...identityChanges(identity, signal, ({ what, name }) =>
        what === 'account' ? [name] : what === 'roles made' ? membersOf(name) : [],
      ),
    ],
    client,
    log,
    metrics,
    clock,
  });
}

function tenantOfDrive({ metadata }: KubeObject, namespace: string): { name: string }[] {
  const tenant = metadata.namespace === namespace && metadata.labels?.[labels.name];
  return tenant ? [{ name: tenant }] : [];
}

/** Looks at the objects that `names` tells of a change at the provider. */
function identityChanges(
  identity: Identity | undefined,
  signal: AbortSignal,
  names: (change: IdentityChange) => readonly string[],
): Dependency[] {
  if (!identity) return [];
  const changed = knocks(tenantKind.resource);
  const stop = identity.onChange((change) => {
    for (const name of names(change)) changed.knock(objectKey(name));
  });
  signal.addEventListener('abort', stop, { once: true });
  return [dependsOn(changed.source, ({ metadata: { name = '' } }) => [{ name }])];
}
