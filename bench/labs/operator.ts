/** The operator of the labs in this process, as its own program would run it. */
import { createClient, createMetrics, loadConfig, silentLog } from '@podloom/kube';
import { labsOperatorSettings, runLabsOperator } from '@podloom/labs-operator';

export interface Operator extends AsyncDisposable {
  /** How many reconciles have ended, of a controller. */
  reconciles(controller: string): Promise<number>;
  /** How many objects wait for their turn. */
  waiting(): Promise<number>;
}

export async function startOperator(kubeconfig: string): Promise<Operator> {
  const stop = new AbortController();
  const metrics = createMetrics();
  const client = createClient(await loadConfig({ path: kubeconfig }));
  // Every object is looked at once, and then only when something happens.
  const args = ['--namespace=default', '--reschedule-min=0', '--reschedule-max=0'];
  const settings = labsOperatorSettings.read({ args, env: {}, file: { port: 0 } });
  const ended = runLabsOperator(settings, { client, log: silentLog, metrics, signal: stop.signal });
  // Whoever waits for its work hears of it; until then it is nobody's.
  ended.catch(() => undefined);
  const sum = async (line: RegExp): Promise<number> =>
    [...(await metrics.text()).matchAll(line)].reduce((total, [, value]) => total + Number(value), 0);
  return {
    reconciles: (controller) =>
      sum(new RegExp(`^podloom_reconciles_total\\{[^}]*controller="${controller}"[^}]*\\} (\\d+)`, 'gm')),
    waiting: () => sum(/^podloom_queue_depth\{[^}]*\} (\d+)/gm),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
      await client.close();
    },
  };
}
