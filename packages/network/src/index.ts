/** The door of the package. It runs in the browser: no Node built-ins behind it. */
export { type Edit, type Named, attachTo, detachFrom } from './cni/edit.ts';
export { linkNamesOf } from './cni/names.ts';
export { withAddresses } from './compose/composed.ts';
export { declaredNetworks } from './compose/declared.ts';
export { type BridgeNaming, bridgeDevices, bridgeNamings, namingKey, uniqueNamings } from './compose/devices.ts';
export { composePod, networkOf } from './compose/pod.ts';
export { type Limits, grantsFor, overlaps, rangesOfNode } from './compose/refusals.ts';
export { type Settled, problemsOf, settleNamespace } from './compose/settle.ts';
export type { AddressRequest, ComposeConflict, ComposedInterface, ComposedPod } from './compose/composed.ts';
export { drawPod } from './explain/draw.ts';
export { previewPods, type Preview } from './explain/preview.ts';
export { describePlan } from './explain/plan.ts';
export { describeStep } from './explain/step.ts';
export { allocate, coolDownMs, isOf } from './ipam/allocate.ts';
export { numbersOf, poolFor, poolsOf, specOfRange } from './ipam/pools.ts';
export { release } from './ipam/release.ts';
export type { AllocationResult, NetworkRange, PoolDeclaration, PoolRequest } from './ipam/types.ts';
export type { DesiredBridge, DesiredNode, DesiredPod, LinkNames, PodPlan } from './plan/desired.ts';
export { deriveMac } from './mac.ts';
export { programDigest } from './plan/filter/assembler.ts';
export { isOurs, leavingGroup, linkGroup, podOfMark, routeProtocol } from './plan/mark.ts';
export { emptyNamespace } from './plan/observed.ts';
export type {
  AddrGenMode,
  LinkData,
  Observed,
  ObservedAddress,
  ObservedFdb,
  ObservedFilter,
  ObservedLink,
  ObservedNamespace,
  ObservedRoute,
  ObservedSysctl,
  Place,
  Route,
  Rule,
} from './plan/observed.ts';
export { type LinkSettings, type Owner, type Step, interfaceOf } from './plan/step.ts';
export { chooseNames } from './plan/names.ts';
export { desiredBridges, planNode } from './plan/node.ts';
export { planPod } from './plan/pod.ts';
export { isSameSetting, recordIn, recordedLink, sysctlsToObserve } from './plan/primary.ts';
export { undoOf } from './plan/undo.ts';
export { linkNamed } from './plan/world.ts';
export { configLine, primaryLine } from './report/line.ts';
export { refOf } from './source/attachment.ts';
export { sourceOfKey } from './source/key.ts';
export { isByPlugin } from './source/selection.ts';
export {
  annotationsRead,
  bridgesNamed,
  choiceOf,
  describedBridge,
  namedBy,
  sourceTypeOf,
  sourceTypes,
} from './source/registry.ts';
export type { Findings, ObjectRef, Phase, PodIdentity, Problem, SourceObject, SourceType } from './source/source.ts';
