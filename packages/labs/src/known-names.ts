/**
 * The ConfigMap that tells admission policies which Workspaces and Tenants exist: a policy cannot look for an object, but it can take this one as its
 * parameter. In CEL: `name in params.data.workspaces.split("\n")`.
 */
import type { LabObject } from './object.ts';

export const knownNamesName = 'podloom-names';

export function knownNames(namespace: string, workspaces: readonly string[], tenants: readonly string[]): LabObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: knownNamesName, namespace, labels: { 'app.kubernetes.io/part-of': 'podloom' } },
    data: { workspaces: lines(workspaces), tenants: lines(tenants) },
  };
}

const lines = (names: readonly string[]): string => names.toSorted().join('\n');
