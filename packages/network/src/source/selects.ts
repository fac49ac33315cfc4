/** Whether a label selector chooses a pod, as Kubernetes does it: everything named must hold, and nothing named holds for all. */
import type { AdditionalNetworkSpec } from '@podloom/api';

type LabelSelector = AdditionalNetworkSpec['podSelector'];

export function selects(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const equal = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return (
    equal &&
    (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
      const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
      switch (operator) {
        case 'In':
          return value !== undefined && values.includes(value);
        case 'NotIn':
          return value === undefined || !values.includes(value);
        case 'Exists':
          return value !== undefined;
        case 'DoesNotExist':
          return value === undefined;
        default:
          return false;
      }
    })
  );
}
