export type {
  Applied,
  ApplyOptions,
  Bookmark,
  Client,
  DeepPartial,
  DeleteCollectionOptions,
  DeleteOptions,
  Draft,
  ExecOptions,
  ExecResult,
  List,
  ListOptions,
  LogOptions,
  NamedOptions,
  PatchOptions,
  RawRequest,
  RawResponse,
  Resource,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client/client.ts';
export type {
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  CoreEvent,
  CustomResourceDefinition,
  DaemonSet,
  Deployment,
  EndpointSlice,
  Ingress,
  Job,
  Lease,
  LimitRange,
  Namespace,
  NetworkPolicy,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  ResourceQuota,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
  StorageClass,
} from './client/builtin.ts';
export {
  clusterRoles,
  clusterRoleBindings,
  configMaps,
  coreEvents,
  customResourceDefinitions,
  deployments,
  endpointSlices,
  ingresses,
  jobs,
  leases,
  limitRanges,
  namespaces,
  networkPolicies,
  nodes,
  persistentVolumes,
  persistentVolumeClaims,
  pods,
  resourceQuotas,
  roles,
  roleBindings,
  secrets,
  services,
  serviceAccounts,
  serviceCidrs,
  storageClasses,
} from './client/builtin.ts';
export { counted } from './client/counted.ts';
export { createClient, type ClientOptions } from './client/create-client.ts';
export {
  isAlreadyExists,
  isApiError,
  isConflict,
  isFieldConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
  isStale,
  isTooManyRequests,
  isUnauthorized,
  isUnreachable,
  type ApiError,
  type ApiStatus,
  type StatusCause,
  unlessGone,
} from './client/errors.ts';
export type { ClusterConfig, Credentials, CredentialSource, TlsOptions } from './kubeconfig/cluster.ts';
export { loadConfig, type LoadOptions } from './kubeconfig/load.ts';

export { aborted, delay, systemClock, type Clock } from './clock/clock.ts';
export { manualClock, settle, type ManualClock } from './clock/manual.ts';
export { backoffMs, type Backoff } from './queue/backoff.ts';
export { workQueue, type Outcome, type WorkQueue, type WorkQueueOptions } from './queue/queue.ts';
export { startCache, type Cache, type CacheOptions } from './cache/cache.ts';
export { telling } from './cache/telling.ts';
export {
  keyOf,
  objectKey,
  parseObjectKey,
  type Change,
  type Indexes,
  type ObjectKey,
  type StoreReader,
} from './cache/store.ts';
export {
  controller,
  dependsOn,
  type Controller,
  type ControllerOptions,
  type Dependency,
  type ObjectName,
  type ReconcileContext,
  type Reconciler,
  type Source,
} from './controller/controller.ts';
export { owns } from './controller/owns.ts';
export { done, retry, retryAfter, type Result } from './controller/result.ts';
export { knocks, type Knocks } from './controller/knocks.ts';
export { runAsLeader, type LeadershipOptions } from './leader/election.ts';
export { runOperator, type OperatorOptions, type OperatorTools } from './operator/operator.ts';
export type { Part, PartContext } from './operator/parts.ts';
export { operatorFields, type OperatorSettings } from './operator/settings.ts';
export { startEvents, type EventOptions, type EventRecorder } from './events/recorder.ts';
export {
  findCondition,
  isConditionTrue,
  setCondition,
  toMicroTime,
  toTime,
  type NewCondition,
} from './objects/conditions.ts';
export { canonicalJson, isSameJson } from './objects/same.ts';
export { ensureFinalizer, hasFinalizer, removeFinalizer } from './objects/finalizers.ts';
export { applyObject, applyStatus, ownerReference, type ApplyOwnOptions } from './objects/apply.ts';
export {
  ownedObjects,
  type Desired,
  type OwnedFailure,
  type OwnedObjects,
  type OwnedOptions,
  type OwnedResult,
} from './objects/owned.ts';
export { controllerIndex, controllerOf, type OwnedLabel } from './objects/written.ts';
export { createLog, silentLog, withoutCredentials, type Log, type LogLevel } from './process/log.ts';
export {
  addProcessMetrics,
  createMetrics,
  type Counter,
  type Gauge,
  type Histogram,
  type Metrics,
} from './process/metrics.ts';
export { startServer, type Check, type Server, type ServerOptions } from './process/server.ts';
export { duration, flag, integer, oneOf, parseDuration, path, text, type Setting } from './process/setting.ts';
export { settings, type SettingRow, type Settings, type SettingSources } from './process/settings.ts';
