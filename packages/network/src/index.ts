/** The door of the package. It runs in the browser: no Node built-ins behind it. */
export { withAddresses } from './compose/composed.ts';
export { declaredNetworks } from './compose/declared.ts';
export type { DeclaredNetwork } from './compose/declared.ts';
export { bridgeDevices, bridgeNamings, namingKey } from './compose/devices.ts';
export type { BridgeNaming } from './compose/devices.ts';
export { bridgeConflicts, bridgeSettings, composePod } from './compose/pod.ts';
export { type Limits, type Refusal, grantsFor, rangesOfNode, refusalOf } from './compose/refusals.ts';
export { selects } from './compose/selects.ts';
export { type Sources, unreadable } from './compose/wishes.ts';
export type {
  AddressRequest,
  ComposeConflict,
  ComposedInterface,
  ComposedPod,
  ObjectRef,
  PodIdentity,
} from './compose/composed.ts';
export { drawPod } from './explain/draw.ts';
export { previewPod, type Preview, type PreviewInput } from './explain/preview.ts';
export { describePlan } from './explain/plan.ts';
export { describeStep } from './explain/step.ts';
export { allocate, coolDownMs } from './ipam/allocate.ts';
export { countsOf, firstGateway, numbersOf, poolFor, poolSize, poolsOf, specOfRange } from './ipam/pools.ts';
export { release } from './ipam/release.ts';
export { claimsOf, givenBack, stockOf } from './ipam/stock.ts';
export type { Allocated, AllocationResult, NetworkRange, PoolDeclaration, PoolRequest } from './ipam/types.ts';
export type { DesiredBridge, DesiredNode, DesiredPod, LinkNames, PodPlan, PrimaryPlan } from './plan/desired.ts';
export { deriveMac, gatewayMac } from './mac.ts';
export { programDigest } from './plan/filter/assembler.ts';
export { portFilter } from './plan/filter/port-filter.ts';
export type { PortFilterInput } from './plan/filter/port-filter.ts';
export {
  filterHandle,
  filterPriority,
  isOurTable,
  isOurs,
  leavingGroup,
  linkGroup,
  routeProtocol,
} from './plan/mark.ts';
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
export { chooseNames, linkNames } from './plan/names.ts';
export { planNode } from './plan/node.ts';
export { planPod } from './plan/pod.ts';
export { isSameSetting, recordedLink, sysctlsToObserve } from './plan/primary.ts';
export { undoOf } from './plan/undo.ts';
export { configLine, primaryLine } from './report/line.ts';
