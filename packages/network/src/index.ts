/** The door of the package. It runs in the browser: no Node built-ins behind it. */
export { withAddresses } from './compose/composed.ts';
export { declaredNetworks } from './compose/declared.ts';
export { type BridgeNaming, bridgeDevices, bridgeNamings, namingKey, uniqueNamings } from './compose/devices.ts';
export { bridgeConflicts, bridgeSettings, composePod, networkOf } from './compose/pod.ts';
export { type Limits, type Refusal, grantsFor, overlaps, rangesOfNode, refusalOf } from './compose/refusals.ts';
export { type SourceObject, bridgesNamed, chooses } from './compose/sources.ts';
export { type Sources, unreadable } from './compose/wishes.ts';
export type { AddressRequest, ComposeConflict, ComposedInterface, ComposedPod, ObjectRef } from './compose/composed.ts';
export { drawPod } from './explain/draw.ts';
export { previewPods, type Preview } from './explain/preview.ts';
export { describePlan } from './explain/plan.ts';
export { describeStep } from './explain/step.ts';
export { allocate, coolDownMs } from './ipam/allocate.ts';
export { numbersOf, poolFor, poolsOf, specOfRange } from './ipam/pools.ts';
export { release } from './ipam/release.ts';
export { claimsOf, givenBack, isOf, stockOf } from './ipam/stock.ts';
export type { AllocationResult, NetworkRange, PoolDeclaration, PoolRequest } from './ipam/types.ts';
export type { DesiredBridge, DesiredNode, DesiredPod, LinkNames, PodPlan } from './plan/desired.ts';
export { deriveMac } from './mac.ts';
export { programDigest } from './plan/filter/assembler.ts';
export { isOfAnotherPod, isOurs, leavingGroup, linkGroup, routeProtocol } from './plan/mark.ts';
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
  Route,
  Rule,
  Where,
} from './plan/observed.ts';
export type { LinkSettings, Step } from './plan/step.ts';
export { chooseNames } from './plan/names.ts';
export { desiredBridges, planNode } from './plan/node.ts';
export { planPod } from './plan/pod.ts';
export { isSameSetting, recordIn, recordedLink, sysctlsToObserve } from './plan/primary.ts';
export { undoOf } from './plan/undo.ts';
export { linkNamed } from './plan/world.ts';
export { configLine, primaryLine } from './report/line.ts';
