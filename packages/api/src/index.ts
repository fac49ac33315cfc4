export { Bug, Conflict, InvalidInput, PodloomError, Unavailable } from './errors.ts';
export type { Condition, KubeObject, ManagedFieldsEntry, ObjectMeta, OwnerReference } from './meta.ts';
