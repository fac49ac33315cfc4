/**
 * One Lease in memory, with the server's rules (resourceVersion, watch) and with a line to each client that can fail in the ways that lines do.
 * It exists to try thousands of bad schedules in virtual time; the real server is used in test/kube.
 */
import { Unavailable } from '@podloom/api';
import type { Lease } from '../../client/builtin.ts';
import type { CallOptions, Client, Draft, WatchEvent } from '../../client/client.ts';
import type { Clock } from '../../clock/clock.ts';
import { translateStatus } from '../../client/errors.ts';

/** `down`: calls fail at once. `deaf`: they arrive, but no answer does. `mute`: they arrive when the line is up again, and no answer does. */
export type LineState = 'up' | 'down' | 'deaf' | 'mute';

export interface Line {
  state: LineState;
  readonly client: Client;
}

/** After so long the transport gives up a connection that answers no ping. */
const silentMs = 8_000;

export function leaseServer(clock: Clock) {
  let lease: Lease | undefined;
  let version = 1;
  const lines: { line: Line; held: (() => void)[]; wake: () => void }[] = [];
  const history: { version: number; event: WatchEvent<Lease> }[] = [];

  function store(next: Lease, type: 'ADDED' | 'MODIFIED'): Lease {
    version += 1;
    lease = { ...next, metadata: { ...next.metadata, uid: 'the-lease', resourceVersion: String(version) } };
    history.push({ version, event: { type, object: lease } });
    for (const { wake } of lines) wake();
    return structuredClone(lease);
  }
  function update(object: Lease): Lease {
    if (!lease) throw translateStatus(404, {}, 'update');
    if (object.metadata.resourceVersion !== lease.metadata.resourceVersion) throw translateStatus(409, {}, 'update');
    return store(object, 'MODIFIED');
  }
  function create(object: Draft<Lease>): Lease {
    if (lease) throw translateStatus(409, { reason: 'AlreadyExists' }, 'create');
    return store({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', ...object }, 'ADDED');
  }
  function get(): Lease {
    if (!lease) throw translateStatus(404, {}, 'get');
    return structuredClone(lease);
  }

  function newLine(): Line {
    const held: (() => void)[] = [];
    let changed = Promise.withResolvers<void>();
    const wake = () => {
      changed.resolve();
      changed = Promise.withResolvers();
    };
    async function call<R>(options: CallOptions | undefined, work: () => R): Promise<R> {
      await Promise.resolve();
      if (line.state === 'down') throw new Unavailable('API_UNREACHABLE', 'the line is down');
      if (line.state === 'up') return work();
      const attempt = () => {
        try {
          work();
        } catch (error) {
          if (!(error instanceof Error)) throw error; // whom would we tell? the answer is lost
        }
      };
      if (line.state === 'deaf') attempt();
      else held.push(attempt);
      return await new Promise((_, reject) => {
        const giveUp = () => {
          cancel();
          reject(new Unavailable('API_UNREACHABLE', 'no answer'));
        };
        const cancel = clock.after(silentMs, giveUp);
        options?.signal?.addEventListener('abort', giveUp, { once: true });
      });
    }
    async function* watch(options: CallOptions & { resourceVersion?: string | undefined }) {
      let seen = Number(options.resourceVersion ?? 0);
      const stopped = Promise.withResolvers<void>();
      options.signal?.addEventListener('abort', () => stopped.resolve(), { once: true });
      while (!options.signal?.aborted) {
        if (line.state === 'down') throw new Unavailable('API_UNREACHABLE', 'the line is down');
        const next = changed.promise;
        if (line.state === 'up') {
          for (const { version, event } of history) {
            if (version <= seen) continue;
            seen = version;
            yield event;
          }
        }
        await Promise.race([next, stopped.promise]);
      }
    }
    const line: Line = {
      state: 'up',
      client: {
        get: (_: unknown, __: unknown, options: CallOptions) => call(options, get),
        list: (_: unknown, options: CallOptions) =>
          call(options, () => ({
            metadata: { resourceVersion: String(version) },
            items: lease ? [structuredClone(lease)] : [],
          })),
        watch: (_: unknown, options: CallOptions) => watch(options),
        create: (_: unknown, object: Draft<Lease>, options: CallOptions) => call(options, () => create(object)),
        update: (_: unknown, object: Lease, options: CallOptions) => call(options, () => update(object)),
      } as unknown as Client,
    };
    lines.push({ line, held, wake });
    return line;
  }

  function setLine(line: Line, state: LineState): void {
    line.state = state;
    const { held = [], wake } = lines.find((one) => one.line === line) ?? {};
    if (state === 'up') for (const attempt of held.splice(0)) attempt();
    wake?.();
  }

  return { newLine, setLine, current: () => lease };
}
