/** Bridge: asks for nothing in pods. It says what a bridge is like for those who have links on it. */
import { type Bridge, bridgeFinalizer, bridgeKind } from '@podloom/api';
import { readRanges, sourceOf } from './attachment.ts';
import type { SourceType } from './source.ts';

export const bridgeSource: SourceType<Bridge> = {
  kind: bridgeKind,
  finalizer: bridgeFinalizer,
  describes: ({ spec }) => spec.name,
  requests(object) {
    const { name, mtu: mtuBytes } = object.spec;
    return { bridges: [{ ...readRanges(object.spec), source: sourceOf(object), name, mtuBytes }] };
  },
  hasPhase: true,
  report: ({ phase, bridges }) => ({ phase, bridgeConfigs: bridges }),
};
