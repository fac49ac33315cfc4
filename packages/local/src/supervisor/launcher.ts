/** Starts the processes of a cluster in its namespaces, keeps them running, and knows how each of them is. */
import { join } from 'node:path';
import type { Binaries } from '../binaries/build.ts';
import type { ClusterPlan, NodePlan } from '../cluster/plan.ts';
import type { ProcessState } from '../cluster/state.ts';
import { Daemon } from './daemon.ts';
import { enterNetwork, enterNode, type Holder } from './namespaces.ts';

export interface LauncherOptions {
  plan: ClusterPlan;
  built: Binaries;
  /** Processes that hold the namespaces: the control plane's, and those of the nodes by name. */
  control: Holder;
  nodes: ReadonlyMap<string, Holder>;
  signal: AbortSignal;
  /** Told when a process changed its state. */
  changed: (processes: ProcessState[]) => void;
}

export class Launcher {
  readonly #options: LauncherOptions;
  readonly #daemons: Daemon[] = [];
  readonly #env: Record<string, string>;

  constructor(options: LauncherOptions) {
    this.#options = options;
    this.#env = {
      PATH: `${options.built.searchPath}:${process.env['PATH'] ?? ''}`,
      HOME: '/root',
      LANG: 'C.UTF-8',
      // Memory for time: with Go's default, collecting garbage is a quarter of what the API server does.
      GOGC: '400',
    };
  }

  /** Starts a process in the network of the control plane, unless it was started already. */
  inControl(name: string, command: readonly [string, ...string[]], env: Record<string, string> = {}): void {
    this.#launch(name, enterNetwork(this.#options.control.pid), command, env);
  }

  /** Starts a process on a node, with all of the node's namespaces. */
  onNode(node: NodePlan, name: string, command: readonly [string, ...string[]]): void {
    this.#launch(`${node.name}/${name}`, enterNode(this.pidOf(node)), command, {});
  }

  /** How often a process ended by itself. */
  restartsOf(name: string): number {
    return this.#daemons.find(({ state }) => state.name === name)?.state.restarts ?? 0;
  }

  pidOf(node: NodePlan): number {
    return this.#options.nodes.get(node.name)?.pid ?? 0;
  }

  #launch(name: string, enter: readonly string[], command: readonly string[], env: Record<string, string>): void {
    if (this.#daemons.some(({ state }) => state.name === name)) return;
    const { plan, signal, changed } = this.#options;
    const daemon = new Daemon({
      name,
      command: ['nsenter', ...enter, ...command],
      env: { ...this.#env, ...env },
      log: join(plan.logs, `${name.replace('/', '-')}.log`),
      changed: () => changed(this.#daemons.map((one) => one.state)),
      signal,
    });
    this.#daemons.push(daemon);
    void daemon.keepRunning();
  }
}
