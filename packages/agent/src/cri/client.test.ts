/** Over a real socket, with a small server in place of a runtime: what is tested is the wire, the translation and coming back. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MessageInitShape, create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Call, type GrpcServer, startGrpcServer } from '../testing/grpc-server.ts';
import { type CriClient, type CriEvent, connectCri } from './client.ts';
import * as gen from './gen/cri_pb.ts';
import { grpcStatus } from './grpc.ts';

let dir: string;
let socket: string;
let server: GrpcServer;
let cri: CriClient;
let streams: Call[];

const infos: Record<string, string> = { good: '{"pid":42,"sandboxID":"s"}', ended: '{"pid":0}', odd: 'no json' };

function serve(call: Call): void {
  switch (call.method) {
    case 'ListPodSandbox': {
      const { filter } = fromBinary(gen.ListPodSandboxRequestSchema, call.request);
      const uid = filter?.labelSelector['io.kubernetes.pod.uid'] ?? 'every';
      const items = [
        create(gen.PodSandboxSchema, { id: 's', metadata: { uid }, state: 0, createdAt: 5n }),
        create(gen.PodSandboxSchema, { id: 't', metadata: { uid }, state: 1 }),
      ];
      call.say(toBinary(gen.ListPodSandboxResponseSchema, create(gen.ListPodSandboxResponseSchema, { items })));
      return call.end(grpcStatus.ok);
    }
    case 'ContainerStatus': {
      const info = infos[fromBinary(gen.ContainerStatusRequestSchema, call.request).containerId];
      if (info === undefined) return call.end(grpcStatus.notFound, 'no such container');
      const answer = create(gen.ContainerStatusResponseSchema, { info: { info } });
      call.say(toBinary(gen.ContainerStatusResponseSchema, answer));
      return call.end(grpcStatus.ok);
    }
    default:
      streams.push(call);
  }
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'podloom-cri-'));
  socket = join(dir, 'cri.sock');
  streams = [];
  server = await startGrpcServer(socket, serve);
  cri = connectCri(socket);
});
afterEach(async () => {
  cri.close();
  await server.stop();
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
    await server.stop();
    await expect(cri.sandboxes()).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE', retry: 'backoff' });
    server = await startGrpcServer(socket, serve);
    expect(await cri.sandboxes()).toHaveLength(2);
  });

  it('tells of containers that start and sandboxes that go, until it is stopped', async () => {
    const stop = new AbortController();
    const heard: CriEvent[] = [];
    const following = cri.events((event) => heard.push(event), stop.signal);
    const stream = await vi.waitUntil(() => streams[0], { timeout: 120_000 });
    const say = (event: MessageInitShape<typeof gen.ContainerEventResponseSchema>): void =>
      stream.say(toBinary(gen.ContainerEventResponseSchema, create(gen.ContainerEventResponseSchema, event)));
    const podSandboxStatus = { id: 's', metadata: { uid: 'one' } };
    say({ containerId: 's', containerEventType: 1, podSandboxStatus });
    say({ containerId: 'c', containerEventType: 1, podSandboxStatus });
    say({ containerId: 'c', containerEventType: 3, podSandboxStatus });
    say({ containerId: 's', containerEventType: 3, podSandboxStatus });
    say({ containerId: 't', containerEventType: 3 });
    await vi.waitFor(() => expect(heard).toHaveLength(5), { timeout: 120_000 });
    expect(heard.map(({ what }) => what)).toEqual([
      'other',
      'containerStarted',
      'other',
      'sandboxRemoved',
      'sandboxRemoved',
    ]);
    expect(heard.slice(-2)).toMatchObject([
      { podUid: 'one', id: 's' },
      { podUid: undefined, id: 't' },
    ]);
    stop.abort();
    await following;
  });

  it('rejects when the stream of events breaks', async () => {
    const following = cri.events(() => undefined, new AbortController().signal);
    await vi.waitUntil(() => streams[0], { timeout: 120_000 });
    const broken = following.catch((error: unknown) => error);
    await server.stop();
    expect(await broken).toMatchObject({ code: 'CRI_UNAVAILABLE' });
  });
});
