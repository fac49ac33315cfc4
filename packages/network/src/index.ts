/** The door of the package. It runs in the browser: no Node built-ins behind it. */
export type {
  AddressRequest,
  ComposeConflict,
  ComposedInterface,
  ComposedPod,
  ObjectRef,
  PodIdentity,
} from './compose/composed.ts';
export type { Allocated, AllocationResult, NetworkRange, PoolDeclaration, PoolRequest } from './ipam/types.ts';
export type { DesiredBridge, DesiredNode, DesiredPod, LinkNames, PodPlan, PrimaryPlan } from './plan/desired.ts';
export { filterHandle, filterPriority, isOurTable, isOurs, linkGroup, routeProtocol } from './plan/mark.ts';
export { emptyNamespace } from './plan/observed.ts';
export type {
  AddrGenMode,
  Observed,
  ObservedAddress,
  ObservedFdb,
  ObservedFilter,
  ObservedLink,
  ObservedNamespace,
  ObservedRoute,
  ObservedSysctl,
  PortFlags,
  Route,
  Rule,
  Where,
} from './plan/observed.ts';
export type { Instruction, LinkSettings, Step } from './plan/step.ts';
