/**
 * The least that any operator with an agent takes: this process writes an object, another sees it and writes others, this one sees them. The other
 * process is this file, run as a program.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  configMaps,
  createClient,
  loadConfig,
  silentLog,
  startCache,
  type Client,
  type ConfigMap,
} from '@podloom/kube';

export interface Floor extends AsyncDisposable {
  /** Milliseconds until the last of so many answers to one write was seen. */
  round(answers: number): Promise<number>;
}

const label = 'bench.podloom/floor';

export interface FloorOptions {
  readonly client: Client;
  readonly kubeconfig: string;
  readonly namespace: string;
}

export async function startFloor({ client, kubeconfig, namespace }: FloorOptions): Promise<Floor> {
  const stop = new AbortController();
  let seen = 0;
  let isEnough: (() => void) | undefined;
  const answers = startCache<ConfigMap>({
    client,
    resource: configMaps,
    namespace,
    labelSelector: `${label}=answer`,
    log: silentLog,
    signal: stop.signal,
  });
  answers.subscribe(({ now }) => {
    if (!now) return;
    seen += 1;
    isEnough?.();
  });
  const other = spawn(process.execPath, [import.meta.filename, kubeconfig, namespace], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(other, 'exit');
  const died = ended.then(([code, signal]): never => {
    throw new Error(`The other process of the floor ended with ${code ?? signal}, and said why before`);
  });
  // It also ends when it is told to, and nobody waits for it then.
  died.catch(() => undefined);
  const end = async (): Promise<void> => {
    other.stdin.end();
    await ended;
    stop.abort();
  };
  try {
    await Promise.race([Promise.all([answers.waitForSync(), once(other.stdout, 'data')]), died]);
  } catch (error) {
    await end();
    throw error;
  }
  let rounds = 0;
  return {
    async round(howMany) {
      rounds += 1;
      seen = 0;
      const all = new Promise<number>((resolve) => {
        isEnough = () => seen === howMany && resolve(performance.now());
      });
      const startMs = performance.now();
      const metadata = { name: `floor-ask-${rounds}`, namespace, labels: { [label]: 'ask' } };
      await client.create(configMaps, { metadata, data: { answers: String(howMany) } }, { namespace });
      return (await Promise.race([all, died])) - startMs;
    },
    async [Symbol.asyncDispose]() {
      await end();
      await client.deleteCollection(configMaps, { namespace, labelSelector: label });
    },
  };
}

async function answer(kubeconfig: string, namespace: string): Promise<void> {
  const client = createClient(await loadConfig({ path: kubeconfig }));
  const stop = new AbortController();
  const asks = startCache<ConfigMap>({
    client,
    resource: configMaps,
    namespace,
    labelSelector: `${label}=ask`,
    log: silentLog,
    signal: stop.signal,
  });
  const write = (ask: ConfigMap, i: number) => {
    const metadata = { name: `${ask.metadata.name}-${i}`, namespace, labels: { [label]: 'answer' } };
    return client.create(configMaps, { metadata, data: { ask: ask.metadata.name ?? '' } }, { namespace });
  };
  const writing = new Set<Promise<unknown>>();
  await asks.waitForSync();
  asks.subscribe(({ now }) => {
    for (let i = 0; i < Number(now?.data?.['answers'] ?? 0); i += 1) {
      const written = write(now!, i).finally(() => writing.delete(written));
      writing.add(written);
    }
  });
  console.log('ready');
  await once(process.stdin.resume(), 'end');
  stop.abort();
  await Promise.all(writing);
  await client.close();
}

if (import.meta.main) await answer(process.argv[2]!, process.argv[3]!);
