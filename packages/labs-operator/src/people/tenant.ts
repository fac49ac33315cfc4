/** Keeps what a Tenant has: account, namespace with quota and rights, sandbox, drive. */
import { type KubeObject, type Tenant, tenantKind } from '@podloom/api';
import {
  type Reconciler,
  type Resource,
  type Result,
  done,
  removeFinalizer,
  retryAfter,
  unlessGone,
} from '@podloom/kube';
import {
  type Enrolments,
  enrolmentsOf,
  hasLabels,
  keepAlive,
  missingBaseWorkspaces,
  tenantFinalizer,
  tenantLabels,
  tenantMark,
  tenantNamespace,
  tenantObjects,
  tenantQuota,
} from '@podloom/labs';
import { accountAction, ensureAccount } from './account.ts';
import { adopt } from './adopt.ts';
import type { PeopleContext } from './context.ts';
import { countErrors } from './errors-metric.ts';
import { deleteDrive, ensureDrive, noDrive } from './drive.ts';
import { collectFailures, resultOf } from '../failures.ts';
import { leavingCondition, report } from './status.ts';
import { withConditions } from '../conditions.ts';
import { tenantStatus } from './tenant-status.ts';
import { leavingMs } from './workspace.ts';

const { resource } = tenantKind;

export function tenantReconciler(context: PeopleContext): Reconciler<Tenant> {
  const { owned, options, clock } = context;
  return async (seen, { signal }) => {
    if (!hasLabels(seen, options.targetLabels)) return done;
    if (seen.metadata.deletionTimestamp) return release(seen, context, signal);

    const failures = collectFailures(signal);
    const { tenant, enrolments } = await adoptTenant(seen, context, signal);
    const account = await ensureAccount(tenant, enrolments, context, failures, signal);
    const { counted } = enrolments;
    const quota = tenantQuota(tenant, counted, options.caps);
    const found = { enrolments, account, quota };
    if (options.waitsForVerification && context.identity && !account?.isConfirmed) {
      const status = tenantStatus(
        tenant,
        { ...found, drive: noDrive, hasNamespace: false, waits: true },
        failures.list,
        context,
      );
      await report(context, resource, tenant, status, failures.list, signal);
      return resultOf(failures.list, options.again);
    }
    const isUsed = options.keepAliveMs > 0 && (await hasInstances(tenant, context, signal));
    const { keep: hasNamespace, againMs } = keepAlive(tenant, options.keepAliveMs, clock.now(), isUsed);
    const drive = hasNamespace ? await ensureDrive(tenant, context, failures, signal) : noDrive;
    const objects = tenantObjects(tenant, { quota, counted, hasNamespace }, options);
    failures.add((await owned.apply(tenant, [...objects, ...drive.objects], tenantMark, { signal })).failures);
    countErrors(context.metrics, failures.list, enrolments.failing.length);
    const status = tenantStatus(tenant, { ...found, drive, hasNamespace, waits: false }, failures.list, context);
    await report(context, resource, tenant, status, failures.list, signal);
    return resultOf(failures.list, options.again, againMs);
  };
}

/** Finalizer, labels and base workspaces. */
async function adoptTenant(
  seen: Tenant,
  { client, caches, options }: PeopleContext,
  signal: AbortSignal,
): Promise<{ tenant: Tenant; enrolments: Enrolments }> {
  const { targetLabels, baseWorkspaces } = options;
  const missing = missingBaseWorkspaces(seen, baseWorkspaces).map((name) => ({ name, role: 'user' as const }));
  const workspaces = [...(seen.spec.workspaces ?? []), ...missing];
  const enrolled: Tenant = { ...seen, spec: { ...seen.spec, workspaces } };
  const enrolments = enrolmentsOf(enrolled, (name) => caches.workspaces.get(name));
  const labels = tenantLabels(enrolled, enrolments, { targetLabels, baseWorkspaces });
  const spec = missing.length > 0 ? { workspaces } : undefined;
  return { tenant: await adopt(client, resource, seen, { labels, spec }, signal), enrolments };
}

const instances: Resource = {
  group: 'crownlabs.polito.it',
  version: 'v1alpha2',
  plural: 'instances',
  kind: 'Instance',
  namespaced: true,
};

/** Also templates of the personal workspace keep the namespace. */
async function hasInstances(tenant: Tenant, { client }: PeopleContext, signal: AbortSignal): Promise<boolean> {
  const namespace = tenantNamespace(tenant.metadata.name ?? '');
  const templates = { ...instances, plural: 'templates', kind: 'Template' };
  const kinds = tenant.spec.personalWorkspace ? [instances, templates] : [instances];
  for (const kind of kinds) {
    // Not found: the kind is not installed.
    const found = await unlessGone(() => client.list<KubeObject>(kind, { namespace, limit: 1, signal }));
    if (found && found.items.length > 0) return true;
  }
  return false;
}

async function release(tenant: Tenant, context: PeopleContext, signal: AbortSignal): Promise<Result> {
  const { client, owned, identity, clock, options } = context;
  const failures = collectFailures(signal);
  const { pruned, leaving, failures: failed } = await owned.apply(tenant, [], tenantMark, { signal });
  failures.add(failed);
  if (options.deletesDrives) await failures.attempt('Drive', () => deleteDrive(tenant, context, signal));
  if (identity) await failures.attempt(accountAction, () => identity.deleteUser(tenant, signal));
  const left = [...pruned, ...leaving];
  if (left.length === 0 && failures.list.length === 0) {
    await removeFinalizer(client, resource, tenant, tenantFinalizer, { signal });
    return done;
  }
  const conditions = withConditions(tenant, [leavingCondition(failures.list, left)], clock.now());
  await report(context, resource, tenant, { ...tenant.status, ready: false, conditions }, failures.list, signal);
  return failures.list.length > 0
    ? resultOf(failures.list, options.again)
    : retryAfter(leavingMs, 'Waits for what is leaving');
}
