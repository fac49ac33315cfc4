/** Keeps what a Workspace has: namespace, rights, roster, roles at the identity provider; and settles candidates that nobody can accept any more. */
import { type Workspace, type WorkspaceStatus, workspaceKind } from '@podloom/api';
import { type Reconciler, type Result, done, removeFinalizer, retryAfter } from '@podloom/kube';
import {
  hasLabels,
  labels,
  rosterObjects,
  settledCandidates,
  tenantFinalizer,
  withoutWorkspace,
  workspaceLabels,
  workspaceMark,
  workspaceNamespace,
  workspaceObjects,
} from '@podloom/labs';
import { adopt } from './adopt.ts';
import type { PeopleContext } from './context.ts';
import { writeEnrolments } from './enrol.ts';
import { type Failures, collectFailures, resultOf } from '../failures.ts';
import { identityCondition, leavingCondition, readyCondition, report } from './status.ts';
import { withConditions } from '../conditions.ts';

const { resource } = workspaceKind;
const roles = 'Roles at the identity provider';

export function workspaceReconciler(context: PeopleContext): Reconciler<Workspace> {
  const { client, caches, owned, identity, options } = context;
  return async (seen, { signal }) => {
    if (!hasLabels(seen, options.targetLabels)) return done;
    if (seen.metadata.deletionTimestamp) return release(seen, context, signal);

    const failures = collectFailures(signal);
    const workspace = await adopt(
      client,
      resource,
      seen,
      { labels: workspaceLabels(seen, options.targetLabels) },
      signal,
    );
    const name = workspace.metadata.name ?? '';
    const members = caches.tenants.by('workspace', name).filter(({ metadata }) => !metadata.deletionTimestamp);
    const common = { ...options.targetLabels, [labels.managedBy]: workspaceMark.value };
    const desired = [...workspaceObjects(workspace, options.targetLabels), ...rosterObjects(name, members, common)];
    failures.add((await owned.apply(workspace, desired, workspaceMark, { signal })).failures);
    for (const member of members) {
      const settled = settledCandidates(member, workspace);
      if (settled) {
        await failures.attempt(`Tenant ${member.metadata.name}`, () =>
          writeEnrolments(client, member, settled, signal),
        );
      }
    }
    if (identity) await failures.attempt(roles, () => identity.ensureWorkspaceRoles(workspace, signal));
    await report(context, resource, workspace, statusOf(workspace, failures, context), failures.list, signal);
    return resultOf(failures.list, options.again);
  };
}

function statusOf(workspace: Workspace, { list }: Failures, { identity, clock }: PeopleContext): WorkspaceStatus {
  const name = workspaceNamespace(workspace.metadata.name ?? '');
  const created = !list.some(({ object }) => object === `Namespace ${name}`);
  const failedRoles = list.find(({ object }) => object === roles);
  const conditions = [readyCondition(list), identityCondition(identity !== undefined, failedRoles)];
  return {
    namespace: created ? { name, created } : { created },
    // Without a provider upstream says Failed, too, and is ready all the same.
    subscription: { keycloak: identity && !failedRoles ? 'Ok' : 'Failed' },
    ready: list.length === 0,
    observedGeneration: workspace.metadata.generation,
    conditions: withConditions(workspace, conditions, clock.now()),
  };
}

async function release(workspace: Workspace, context: PeopleContext, signal: AbortSignal): Promise<Result> {
  const { client, caches, owned, identity, clock, options } = context;
  const failures = collectFailures(signal);
  const name = workspace.metadata.name ?? '';
  const members = caches.tenants.by('workspace', name);
  for (const member of members) {
    const rest = withoutWorkspace(member, name);
    await failures.attempt(`Tenant ${member.metadata.name}`, () => writeEnrolments(client, member, rest, signal));
  }
  if (identity) await failures.attempt(roles, () => identity.deleteWorkspaceRoles(workspace, signal));
  const { pruned, leaving, failures: failed } = await owned.apply(workspace, [], workspaceMark, { signal });
  failures.add(failed);
  const left = [...members.map(({ metadata }) => `enrolment of ${metadata.name}`), ...pruned, ...leaving];
  if (left.length === 0 && failures.list.length === 0) {
    await removeFinalizer(client, resource, workspace, tenantFinalizer, { signal });
    return done;
  }
  const conditions = withConditions(workspace, [leavingCondition(failures.list, left)], clock.now());
  const status = { ...workspace.status, ready: false, conditions };
  await report(context, resource, workspace, status, failures.list, signal);
  return failures.list.length > 0
    ? resultOf(failures.list, options.again)
    : retryAfter(leavingMs, 'Waits for what is leaving');
}

/** What leaves tells us when it is gone; this is for what nobody tells. */
export const leavingMs = 2_000;
