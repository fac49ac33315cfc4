/**
 * Starts the parts that a cluster is to have: those that are written down, and those that are written down later. One that fails keeps
 * no other waiting, says why, and is tried again.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, loadConfig } from '@podloom/kube';
import { binaries } from '../binaries/build.ts';
import type { ClusterPlan } from '../cluster/plan.ts';
import { clusterModules } from '../cluster/requirements.ts';
import { readPlan } from '../cluster/store.ts';
import type { PartName, PartState } from '../parts/part.ts';
import { parts } from '../parts/parts.ts';
import { loadImage } from './cluster.ts';
import type { Launcher } from './launcher.ts';

export interface KeeperOptions {
  plan: ClusterPlan;
  launcher: Launcher;
  signal: AbortSignal;
  /** Told when a part changed its state. */
  changed: (parts: PartState[]) => void;
}

const retryAfterMs = 5_000;

export class PartKeeper {
  readonly #options: KeeperOptions;
  readonly #states = new Map<PartName, PartState>();

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** Starts what is written down and was not started yet. */
  async look(): Promise<void> {
    const { plan, signal } = this.#options;
    const wanted = (await readPlan(plan.name))?.parts ?? [];
    if (signal.aborted) return;
    for (const name of wanted) {
      if (this.#states.has(name)) continue;
      const state: PartState = { name, state: 'starting', attempts: 0 };
      this.#states.set(name, state);
      void this.#keepTrying(state);
    }
  }

  /** Ends when the part was started; what keeps it running is the launcher's. */
  async #keepTrying(state: PartState): Promise<void> {
    const { signal } = this.#options;
    while (!signal.aborted) {
      this.#become(state, { state: 'starting', attempts: state.attempts + 1 });
      try {
        await this.#start(state.name);
        delete state.reason;
        this.#become(state, { state: 'ready' });
        return;
      } catch (error) {
        if (signal.aborted) return;
        console.error(`${new Date().toISOString()} Could not start ${state.name}`, error);
        this.#become(state, { state: 'failed', reason: error instanceof Error ? error.message : String(error) });
      }
      await delay(retryAfterMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #start(name: PartName): Promise<void> {
    const { plan, launcher, signal } = this.#options;
    const part = parts[name];
    const built = await binaries({ modules: [...clusterModules, ...part.modules], signal });
    await part.prepare({ built, signal });
    const client = createClient(await loadConfig({ path: join(plan.pki, 'admin.kubeconfig') }));
    const forAllNodes = async (archive: string) => {
      await Promise.all(plan.members.map(async (node) => loadImage(built, launcher.pidOf(node), archive, signal)));
    };
    try {
      await part.start({ plan, built, client, launcher, signal, loadImage: forAllNodes });
    } finally {
      await client.close();
    }
  }

  #become(state: PartState, change: Partial<PartState>): void {
    Object.assign(state, change);
    this.#options.changed([...this.#states.values()]);
  }
}
