export { binaries, type Binaries, type BinariesOptions } from './binaries/build.ts';
export type { BuildProgress } from './binaries/once.ts';
export { clusterExec, clusterLoad, clusterLogs, type ExecOptions, type LoadOptions } from './cluster/commands.ts';
export { clusterDown } from './cluster/down.ts';
export {
  clusterKubeconfig,
  clusterNames,
  clusterStatus,
  type ClusterStatus,
  type NodeStatus,
  type PartStatus,
} from './cluster/status.ts';
export type { ProcessState } from './cluster/state.ts';
export { clusterUp, type UpOptions, type UpProgress, type UpResult } from './cluster/up.ts';
export { renderAuthentication, type TokenIssuer } from './config/authentication.ts';
export { startKeycloak, type KeycloakServer, type KeycloakServerOptions } from './keycloak.ts';
export { startRegistry, type RegistryServer, type RegistryServerOptions } from './registry.ts';
export { startControlPlane, type ControlPlane, type ControlPlaneOptions } from './control-plane.ts';
export { baseEntries, imageUser } from './images/base.ts';
export { debianRoot } from './images/debian.ts';
export { sharedLibraries, sharedLibrariesIn } from './images/libraries.ts';
export type { PartName } from './parts/part.ts';
export { parsePartNames } from './parts/parts.ts';
export { pauseImage } from './images/pause.ts';
export { toolsImage } from './images/tools.ts';
