/** The door of the package. It runs in the browser: no Node built-ins behind it. */
export { customResourceDefinition, objectSchema, unknownFields } from './crd.ts';
export type { CustomResourceDefinition } from './crd.ts';
export { Bug, Conflict, InvalidInput, PodloomError, Unavailable } from './errors.ts';
export { defineKind } from './kind.ts';
export type { Kind, ObjectOf, PrinterColumn } from './kind.ts';
export { kindOf, kinds, labsKinds, networkKinds } from './kinds.ts';
export { additionalNetworkKind } from './kinds/additionalnetwork.ts';
export type { AdditionalNetwork, AdditionalNetworkSpec, AdditionalNetworkStatus } from './kinds/additionalnetwork.ts';
export { bridgeFinalizer, bridgeKind } from './kinds/bridge.ts';
export type { Bridge, BridgeSpec, BridgeStatus } from './kinds/bridge.ts';
export { ipPoolKind } from './kinds/ippool.ts';
export type { IPAllocation, IPPool, IPPoolSpec, IPPoolSpecInput, IPPoolStatus } from './kinds/ippool.ts';
export { environmentTypes } from './kinds/labs/environment.ts';
export { imageListKind } from './kinds/labs/imagelist.ts';
export type { ImageList, ImageListSpec, ImageListStatus } from './kinds/labs/imagelist.ts';
export { environmentPhases, instanceKind, templateRefKey, tenantRefKey } from './kinds/labs/instance.ts';
export type {
  EnvironmentPhase,
  ExposedPort,
  Instance,
  InstanceEnvironmentStatus,
  InstanceSpec,
  InstanceSpecInput,
  InstanceStatus,
} from './kinds/labs/instance.ts';
export { instanceSnapshotKind } from './kinds/labs/instancesnapshot.ts';
export type { InstanceSnapshot, InstanceSnapshotSpec, InstanceSnapshotStatus } from './kinds/labs/instancesnapshot.ts';
export { sharedVolumeKind, sharedVolumePhases } from './kinds/labs/sharedvolume.ts';
export type {
  SharedVolume,
  SharedVolumePhase,
  SharedVolumeSpec,
  SharedVolumeStatus,
} from './kinds/labs/sharedvolume.ts';
export { templateKind, workspaceRefKey } from './kinds/labs/template.ts';
export type {
  Environment,
  EnvironmentType,
  Template,
  TemplateSpec,
  TemplateSpecInput,
  TemplateStatus,
} from './kinds/labs/template.ts';
export { tenantKind, tenantRoles } from './kinds/labs/tenant.ts';
export type {
  Enrolment,
  Tenant,
  TenantQuota,
  TenantRole,
  TenantSpec,
  TenantSpecInput,
  TenantStatus,
} from './kinds/labs/tenant.ts';
export { workspaceKind } from './kinds/labs/workspace.ts';
export type { Workspace, WorkspaceQuota, WorkspaceSpec, WorkspaceStatus } from './kinds/labs/workspace.ts';
export { networkKind } from './kinds/network.ts';
export type { Network, NetworkSpec, NetworkStatus } from './kinds/network.ts';
export { networkAttachmentDefinitionKind } from './kinds/networkattachmentdefinition.ts';
export type {
  NetworkAttachmentDefinition,
  NetworkAttachmentDefinitionSpec,
} from './kinds/networkattachmentdefinition.ts';
export { networkGrantKind } from './kinds/networkgrant.ts';
export type { NetworkGrant, NetworkGrantSpec, NetworkGrantStatus } from './kinds/networkgrant.ts';
export { podConfigFinalizer, podConfigKind, podConfigLabel } from './kinds/podconfig.ts';
export type { NetworkAttachment, PodConfig, PodConfigSpec, PodConfigStatus } from './kinds/podconfig.ts';
export { nodeLabel, podNetworkKind, podNetworkRoom } from './kinds/podnetwork.ts';
export type {
  PodInterface,
  PodInterfaceCni,
  PodInterfaceStatus,
  PodNetwork,
  PodNetworkSpec,
  PodNetworkSpecInput,
  PodNetworkStatus,
  PrimaryLinkRecord,
  PrimaryLinkState,
} from './kinds/podnetwork.ts';
export { podNetworkConfigFinalizer, podNetworkConfigKind, podNetworkConfigLabel } from './kinds/podnetworkconfig.ts';
export type { PodNetworkConfig, PodNetworkConfigSpec, PodNetworkConfigStatus } from './kinds/podnetworkconfig.ts';
export { primaryNetworkKind } from './kinds/primarynetwork.ts';
export type { PrimaryNetwork, PrimaryNetworkSpec, PrimaryNetworkStatus } from './kinds/primarynetwork.ts';
export type {
  Condition,
  KubeList,
  KubeObject,
  ListMeta,
  ManagedFieldsEntry,
  ObjectMeta,
  OwnerReference,
  Resource,
} from './meta.ts';
export { type Link, linkOf } from './links/types.ts';
export { linkTypes, mostListed } from './schema/fields.ts';
export type { LinkType } from './schema/fields.ts';
export { cidrContains, formatIp, isCidr, isIp, parseCidr, parseIp } from './schema/ip.ts';
export type { Cidr, IpAddress } from './schema/ip.ts';
export { isQuantity, quantityInNanos } from './schema/quantity.ts';
export type { Quantity } from './schema/quantity.ts';
export { isLinkName, parseLinkName } from './schema/link-name.ts';
export type { LinkName } from './schema/link-name.ts';
export { sysctlsToGrant } from './schema/sysctls.ts';
