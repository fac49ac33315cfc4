/** Upstream's counter of what failed for Tenants, with its name and its reasons. */
import type { Metrics, OwnedFailure } from '@podloom/kube';
import { accountAction } from './account.ts';

export function countErrors(metrics: Metrics, failures: readonly OwnedFailure[], unknownWorkspaces: number): void {
  const errors = metrics.counter('tenant_operator_internal_errors', 'What fails for Tenants, and how often?', [
    'controller',
    'reason',
  ]);
  for (const { object } of failures) errors.add({ controller: 'tenant', reason: reasonOf(object) });
  if (unknownWorkspaces > 0) errors.add({ controller: 'tenant', reason: 'workspace-not-exist' }, unknownWorkspaces);
}

function reasonOf(object: string): string {
  if (object === accountAction) return 'keycloak';
  if (object.startsWith('ClusterRole')) return 'cluster-resources';
  if (object.includes(' sandbox-')) return 'sandbox-resources';
  if (/^(PersistentVolume|Job|Secret)/.test(object)) return 'mydrive';
  return 'create-personal-namespace';
}
