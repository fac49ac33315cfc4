/** Over a real socket, with a small server in place of a runtime: what is tested is the wire, the translation and coming back. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  create,
  fromBinary,
  toBinary,
} from '@bufbuild/protobuf';
import { Server, ServerCredentials, type ServerWritableStream, type sendUnaryData, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type CriClient, type CriEvent, connectCri } from './client.ts';
import * as gen from './gen/cri_pb.ts';

let dir: string;
let socket: string;
let server: Server;
let cri: CriClient;
let streams: ServerWritableStream<unknown, unknown>[];

const method = <I extends DescMessage, O extends DescMessage>(
  path: string,
  input: I,
  output: O,
  responseStream = false,
) => ({
  path: `/runtime.v1.RuntimeService/${path}`,
  requestStream: false,
  responseStream,
  requestSerialize: (value: MessageShape<I>) => Buffer.from(toBinary(input, value)),
  requestDeserialize: (bytes: Buffer) => fromBinary(input, bytes),
  responseSerialize: (value: MessageShape<O>) => Buffer.from(toBinary(output, value)),
  responseDeserialize: (bytes: Buffer) => fromBinary(output, bytes),
});
const definition = {
  list: method('ListPodSandbox', gen.ListPodSandboxRequestSchema, gen.ListPodSandboxResponseSchema),
  status: method('ContainerStatus', gen.ContainerStatusRequestSchema, gen.ContainerStatusResponseSchema),
  events: method('GetContainerEvents', gen.GetEventsRequestSchema, gen.ContainerEventResponseSchema, true),
};
const infos: Record<string, string> = { good: '{"pid":42,"sandboxID":"s"}', ended: '{"pid":0}', odd: 'no json' };

async function startServer(): Promise<void> {
  server = new Server();
  server.addService(definition, {
    list(call: { request: gen.ListPodSandboxRequest }, answer: (error: null, value: unknown) => void) {
      const uid = call.request.filter?.labelSelector['io.kubernetes.pod.uid'] ?? 'every';
      const items = [
        create(gen.PodSandboxSchema, { id: 's', metadata: { uid }, state: 0, createdAt: 5n }),
        create(gen.PodSandboxSchema, { id: 't', metadata: { uid }, state: 1 }),
      ];
      answer(null, create(gen.ListPodSandboxResponseSchema, { items }));
    },
    status(call: { request: gen.ContainerStatusRequest }, answer: sendUnaryData<gen.ContainerStatusResponse>) {
      const info = infos[call.request.containerId];
      if (info === undefined) answer({ code: status.NOT_FOUND, details: 'no such container' });
      else answer(null, create(gen.ContainerStatusResponseSchema, { info: { info } }));
    },
    events: (stream: ServerWritableStream<unknown, unknown>) => void streams.push(stream),
  });
  await new Promise<void>((resolve, reject) => {
    const bound = (error: Error | null): void => (error ? reject(error) : resolve());
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), bound);
  });
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'podloom-cri-'));
  socket = join(dir, 'cri.sock');
  streams = [];
  await startServer();
  cri = connectCri(socket);
});
afterEach(() => {
  cri.close();
  server.forceShutdown();
  rmSync(dir, { recursive: true });
});

describe('the client of the runtime', () => {
  it('lists sandboxes, of all pods or of one', async () => {
    expect(await cri.sandboxes('one')).toEqual([
      { id: 's', podUid: 'one', isReady: true, createdAt: 5n },
      { id: 't', podUid: 'one', isReady: false, createdAt: 0n },
    ]);
    expect((await cri.sandboxes()).map(({ podUid }) => podUid)).toEqual(['every', 'every']);
  });

  it('reads the process from the verbose status', async () => {
    expect(await cri.containerPid('good')).toBe(42);
    expect(await cri.containerPid('ended')).toBe(0);
    expect(await cri.containerPid('unknown')).toBeUndefined();
    await expect(cri.containerPid('odd')).rejects.toMatchObject({ code: 'CRI_ANSWER', retry: 'backoff' });
  });

  it('says what to wait for while the runtime is away, and comes back with it', async () => {
    await cri.sandboxes();
    server.forceShutdown();
    await expect(cri.sandboxes()).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE', retry: 'backoff' });
    await startServer();
    expect(await vi.waitFor(() => cri.sandboxes(), { timeout: 10_000 })).toHaveLength(2);
  });

  it('tells of containers that start and sandboxes that go, until it is stopped', async () => {
    const stop = new AbortController();
    const heard: CriEvent[] = [];
    const following = cri.events((event) => heard.push(event), stop.signal);
    const stream = await vi.waitUntil(() => streams[0], { timeout: 10_000 });
    const say = (event: MessageInitShape<typeof gen.ContainerEventResponseSchema>): void =>
      void stream.write(create(gen.ContainerEventResponseSchema, event));
    const podSandboxStatus = { id: 's', metadata: { uid: 'one' } };
    say({ containerId: 's', containerEventType: 1, podSandboxStatus });
    say({ containerId: 'c', containerEventType: 1, podSandboxStatus });
    say({ containerId: 'c', containerEventType: 3, podSandboxStatus });
    say({ containerId: 's', containerEventType: 3, podSandboxStatus });
    await vi.waitFor(() => expect(heard).toHaveLength(4), { timeout: 10_000 });
    expect(heard.map(({ what }) => what)).toEqual(['other', 'containerStarted', 'other', 'sandboxRemoved']);
    stop.abort();
    await following;
  });

  it('rejects when the stream of events breaks', async () => {
    const following = cri.events(() => undefined, new AbortController().signal);
    await vi.waitUntil(() => streams[0], { timeout: 10_000 });
    server.forceShutdown();
    await expect(following).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
  });
});
