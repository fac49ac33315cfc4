/**
 * The program that keeps one cluster running, started by `cluster up` and alone afterwards. It has no orders to take: it is ended
 * by killing it with everything else, so a crash and a stop are the same thing and are tried every time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { binaries } from '../binaries/build.ts';
import { endProcesses } from '../cluster/down.ts';
import { clusterModules } from '../cluster/requirements.ts';
import { serveState, type SupervisorState } from '../cluster/state.ts';
import { readPlan } from '../cluster/store.ts';
import { startCluster } from './cluster.ts';
import { PartKeeper } from './keeper.ts';

const [name = '', pauseArchive = ''] = process.argv.slice(2);
const plan = await readPlan(name);
if (!plan) throw new Error(`There is no cluster ${name}`);
const built = await binaries({ modules: clusterModules });

const state: SupervisorState = {
  pid: process.pid,
  phase: 'starting',
  step: 'Starting',
  holders: {},
  processes: [],
  parts: [],
};

/** Who asks may have written down that a part is wanted: this is how a running cluster gets it. */
let keeper: PartKeeper | undefined;
const lookAgain = async (): Promise<void> =>
  keeper
    ?.look()
    .catch((error: unknown) =>
      console.error(`${new Date().toISOString()} Could not see which parts are wanted`, error),
    );

await serveState(plan.dir, state, lookAgain);
const know = (change: Partial<SupervisorState>): void => void Object.assign(state, change);

const retryAfterMs = 5_000;

for (let attempt = 1; ; attempt++) {
  const stop = new AbortController();
  try {
    know({ phase: 'starting', parts: [] });
    const { lost, launcher } = await startCluster({
      plan,
      built,
      pauseArchive,
      signal: stop.signal,
      step: (step) => know({ step }),
      changed: know,
    });
    know({ phase: 'ready', step: 'Running' });
    keeper = new PartKeeper({ plan, launcher, signal: stop.signal, changed: (parts) => know({ parts }) });
    await lookAgain();
    const holder = await lost;
    console.error(`${new Date().toISOString()} The namespaces of ${holder} are lost, starting anew`);
  } catch (error) {
    console.error(`${new Date().toISOString()} Could not start the cluster`, error);
    // The first time there is somebody to tell; later, there is only trying.
    if (attempt === 1) {
      await endProcesses(plan);
      process.exit(1);
    }
    await delay(retryAfterMs);
  }
  keeper = undefined;
  stop.abort();
  await endProcesses(plan);
}
