/**
 * All that the objects of one namespace ask for, decided as far as it does not depend on a pod: what may not be had is out, and every bridge is
 * settled. Many pods are composed from one of these.
 */
import { InvalidInput } from '@podloom/api';
import { refOf } from '../source/attachment.ts';
import { requestsOf } from '../source/registry.ts';
import type { BridgeRequest, LinkRequest, PrimaryRequest, Problem, Requests, SourceObject } from '../source/source.ts';
import { type BridgeSettings, settleBridges } from './bridges.ts';
import type { ComposeConflict } from './composed.ts';
import { type Limits, type Refusal, linkRefusal, rangeRefusal } from './refusals.ts';

type Request = LinkRequest | BridgeRequest | PrimaryRequest;

export interface Settled {
  readonly namespace: string;
  readonly limits: Limits;
  readonly objects: ReadonlyMap<SourceObject, Requests>;
  readonly bridges: ReadonlyMap<string, BridgeSettings>;
  /** Bridges and links that lose against an older one, for whatever pod. */
  readonly conflicts: ReadonlyMap<Request, ComposeConflict>;
  readonly refusals: ReadonlyMap<Request, Refusal>;
}

/** Objects of other namespaces count for nothing here, nor do those that are being deleted or cannot be read. */
export function settleNamespace(namespace: string, all: readonly SourceObject[], limits: Limits): Settled {
  const objects = new Map<SourceObject, Requests>();
  for (const object of all) {
    const { metadata } = object;
    const requests = requestsOf(object);
    if (metadata.namespace !== namespace || metadata.deletionTimestamp || requests instanceof InvalidInput) continue;
    objects.set(object, requests);
  }
  const links = [...objects.values()].flatMap((one) => one.links ?? []);
  const declared = [...objects.values()].flatMap((one) => one.bridges ?? []);
  const refusals = new Map<Request, Refusal>();
  for (const link of links) {
    const refusal = linkRefusal(link, limits);
    if (refusal) refusals.set(link, refusal);
  }
  const possible = links.filter((link) => !refusals.has(link));
  const bridges = settleBridges(possible, declared, (request) => rangeRefusal(request, limits));
  for (const [request, refusal] of bridges.refusals) refusals.set(request, refusal);
  return { namespace, limits, objects, bridges: bridges.settings, conflicts: bridges.losers, refusals };
}

/** What keeps the object itself from having what it asks for, whichever pods there are. */
export function problemsOf(object: SourceObject, { objects, refusals }: Settled): Problem[] {
  const requests = requestsOf(object);
  if (requests instanceof InvalidInput)
    return [{ ref: refOf(object), reason: 'InvalidSpec', message: requests.message }];
  const { bridges = [], problems = [] } = objects.get(object) ?? requests;
  return [...problems, ...bridges.flatMap((bridge) => refusals.get(bridge) ?? [])];
}
