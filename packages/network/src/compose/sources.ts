/** What can be asked of an object that people wrote, whatever its kind, without reading all of it: also of one that is being deleted or cannot be read. */
import {
  type AdditionalNetwork,
  type Bridge,
  type PodConfig,
  type PodNetworkConfig,
  type PrimaryNetwork,
  podConfigLabel,
  podNetworkConfigLabel,
} from '@podloom/api';
import { selects } from './selects.ts';

export type SourceObject = PodConfig | PodNetworkConfig | Bridge | PrimaryNetwork | AdditionalNetwork;

/** Whether it asks for something in pods of its namespace with these labels. A Bridge asks for nothing by itself. */
export function chooses({ kind, metadata, spec }: SourceObject, labels: Readonly<Record<string, string>>): boolean {
  if (kind === 'PodConfig') return labels[podConfigLabel] === metadata.name;
  if (kind === 'PodNetworkConfig') return labels[podNetworkConfigLabel] === metadata.name;
  return 'podSelector' in spec && selects(spec.podSelector, labels);
}

/** The bridges that it names, each of its own namespace. */
export function bridgesNamed({ kind, spec }: SourceObject): string[] {
  const names = ((): (string | undefined)[] => {
    if ('networkAttachments' in spec) return (spec.networkAttachments ?? []).map(({ master }) => master);
    if ('additionalNetworks' in spec) return (spec.additionalNetworks ?? []).map(({ master }) => master);
    if (kind === 'Bridge') return 'name' in spec ? [spec.name] : [];
    return 'bridge' in spec ? [spec.bridge] : [];
  })();
  return names.filter((name) => name !== undefined);
}
