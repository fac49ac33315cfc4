/** The node as a whole: bridges that nobody uses any more, links of pods that are no longer served, rules and routes left behind. */
import type { PodNetwork } from '@podloom/api';
import type { Log } from '@podloom/kube';
import type { Netns } from '@podloom/netlink';
import { type DesiredNode, desiredBridges, planNode } from '@podloom/network';
import { applySteps } from '../apply/run.ts';
import type { NodeView } from '../observe/node.ts';

/** A PodNetwork that is being deleted asks for nothing. */
export const isLeaving = ({ metadata }: PodNetwork): boolean => metadata.deletionTimestamp !== undefined;

export function desiredNode(networks: readonly PodNetwork[]): DesiredNode {
  const staying = networks.filter((network) => !isLeaving(network));
  return {
    bridges: desiredBridges(
      staying.map(({ metadata: { namespace = '' }, spec: { interfaces } }) => ({ namespace, interfaces })),
    ),
    podUids: new Set(staying.map(({ spec }) => spec.podUid)),
    ports: new Set(staying.flatMap(({ status }) => status?.interfaces ?? []).flatMap(({ hostName }) => hostName ?? [])),
  };
}

/** The MTU that all who use the bridge want it to have. */
export const bridgeMtu = (networks: readonly PodNetwork[], device: string): number | undefined =>
  desiredNode(networks).bridges.find((bridge) => bridge.device === device)?.mtuBytes;

export interface NodePass {
  readonly netns: Netns;
  readonly view: NodeView;
  readonly log: Log;
  /** Bridges that CNI plugins use. */
  readonly kept?: ReadonlySet<string> | undefined;
  /** Where drift is only reported: how bridges were wanted when the node was last tidied. Those that are wanted otherwise since are mended. */
  readonly tidied?: Map<string, string> | undefined;
}

/** Synchronous: nothing else happens between looking and doing. Throws the first error when all that can be done is done. */
export function tidyNode(networks: readonly PodNetwork[], { netns, view, log, kept, tidied }: NodePass): void {
  const seen = view.current();
  const names = new Set(seen.links.map((link) => link.name));
  const desired = desiredNode(networks);
  // A bridge that is not there is made by the pod that needs it, if one runs; here those that are there are mended.
  const bridges = desired.bridges.filter(({ device }) => names.has(device));
  const wishes = new Map(desired.bridges.map((bridge) => [bridge.device, JSON.stringify(bridge)]));
  const held = new Set(wishes.keys().filter((device) => tidied?.get(device) === wishes.get(device)));
  const steps = planNode({ ...desired, bridges, held, kept }, seen);
  if (steps.length > 0) {
    const outcome = applySteps(steps, { node: netns });
    view.touchedBy(outcome.touched.get('node'));
    const { errors } = outcome;
    log.info({ steps: steps.length, failed: errors.length }, 'Tidied the node');
    if (errors.length > 0) throw errors[0];
  }
  tidied?.clear();
  for (const [device, wish] of wishes) tidied?.set(device, wish);
}
