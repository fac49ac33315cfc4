/**
 * What a part of a private cluster is: something that labs need and a bare Kubernetes lacks. A part is one file in this folder and a
 * row in parts.ts. It can be started with the cluster or later, and goes with it.
 */
import type { Client } from '@podloom/kube';
import type { Binaries } from '../binaries/build.ts';
import type { ModuleName } from '../binaries/modules.ts';
import type { BuildProgress } from '../binaries/once.ts';
import type { ClusterPlan } from '../cluster/plan.ts';
import type { LeafRequest } from '../pki/x509.ts';
import type { Launcher } from '../supervisor/launcher.ts';

export type PartName = 'storage' | 'identity' | 'registry';

export interface PartState {
  name: PartName;
  state: 'starting' | 'ready' | 'failed';
  /** Why it failed; it is tried again. */
  reason?: string;
  /** How often it was tried to start it. */
  attempts: number;
}

export interface PreparePart {
  built: Binaries;
  progress?: (event: BuildProgress | { kind: 'step'; text: string }) => void;
  signal?: AbortSignal;
}

export interface StartPart {
  plan: ClusterPlan;
  /** With the part's own modules. */
  built: Binaries;
  client: Client;
  launcher: Launcher;
  /** Gives every node an image. */
  loadImage: (archive: string) => Promise<void>;
  signal: AbortSignal;
}

export interface Part {
  /** What is built for it. */
  modules: readonly ModuleName[];
  /** Certificates for it, by the name of their files. */
  certificates: (plan: ClusterPlan) => Record<string, LeafRequest>;
  /** Puts what else it needs into the cache. May be repeated, and does then nothing. */
  prepare: (work: PreparePart) => Promise<void>;
  /** Returns when it can be used. May be repeated after a failure half-way, and after the cluster was started anew. */
  start: (work: StartPart) => Promise<void>;
  /** What people and programs need to use it. */
  facts: (plan: ClusterPlan) => Record<string, string>;
}
