/** All kinds, by the part of the chart that brings them, in the order in which documents show them. */
import type { Kind } from './kind.ts';
import { additionalNetworkKind } from './kinds/additionalnetwork.ts';
import { bridgeKind } from './kinds/bridge.ts';
import { ipPoolKind } from './kinds/ippool.ts';
import { imageListKind } from './kinds/labs/imagelist.ts';
import { instanceKind } from './kinds/labs/instance.ts';
import { instanceSnapshotKind } from './kinds/labs/instancesnapshot.ts';
import { sharedVolumeKind } from './kinds/labs/sharedvolume.ts';
import { templateKind } from './kinds/labs/template.ts';
import { tenantKind } from './kinds/labs/tenant.ts';
import { workspaceKind } from './kinds/labs/workspace.ts';
import { networkKind } from './kinds/network.ts';
import { networkAttachmentDefinitionKind } from './kinds/networkattachmentdefinition.ts';
import { networkGrantKind } from './kinds/networkgrant.ts';
import { podConfigKind } from './kinds/podconfig.ts';
import { podNetworkKind } from './kinds/podnetwork.ts';
import { podNetworkConfigKind } from './kinds/podnetworkconfig.ts';
import { primaryNetworkKind } from './kinds/primarynetwork.ts';

/** Installed with `network.enabled`. */
export const networkKinds: readonly Kind[] = [
  podConfigKind,
  podNetworkConfigKind,
  bridgeKind,
  primaryNetworkKind,
  additionalNetworkKind,
  networkGrantKind,
  podNetworkKind,
  ipPoolKind,
  networkKind,
  networkAttachmentDefinitionKind,
];

/** Installed where any part of `labs` is enabled. */
export const labsKinds: readonly Kind[] = [
  workspaceKind,
  tenantKind,
  templateKind,
  instanceKind,
  instanceSnapshotKind,
  sharedVolumeKind,
  imageListKind,
];

export const kinds: readonly Kind[] = [...networkKinds, ...labsKinds];

/** The kind of an object as a manifest names it; undefined where it is none of ours. */
export const kindOf = (object: { readonly apiVersion?: unknown; readonly kind?: unknown }): Kind | undefined =>
  kinds.find(({ apiVersion, kind }) => apiVersion === object.apiVersion && kind === object.kind);
