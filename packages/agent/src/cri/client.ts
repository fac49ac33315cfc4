/** The container runtime, asked over CRI. Messages are in cri.proto, and how they travel in grpc.ts. */
import {
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  create,
  fromBinary,
  toBinary,
} from '@bufbuild/protobuf';
import { Unavailable } from '@podloom/api';
import {
  type ContainerEventResponse,
  ContainerEventResponseSchema,
  ContainerEventType,
  ContainerState,
  ContainerStatusRequestSchema,
  ContainerStatusResponseSchema,
  GetEventsRequestSchema,
  ListContainersRequestSchema,
  ListContainersResponseSchema,
  ListPodSandboxRequestSchema,
  ListPodSandboxResponseSchema,
  PodSandboxState,
  PodSandboxStatusRequestSchema,
  PodSandboxStatusResponseSchema,
  RuntimeService,
  VersionRequestSchema,
  VersionResponseSchema,
} from './gen/cri_pb.ts';
import { GrpcError, grpcChannel, grpcStatus } from './grpc.ts';

export interface CriSandbox {
  readonly id: string;
  readonly podUid: string;
  readonly isReady: boolean;
  /** Nanoseconds since 1970. */
  readonly createdAt: bigint;
}

export interface CriContainer {
  readonly id: string;
  readonly sandboxId: string;
  readonly isRunning: boolean;
  readonly createdAt: bigint;
}

export interface CriEvent {
  /** Left out where the runtime does not say: containerd 1.7 tells only by its id which sandbox is gone. */
  readonly podUid?: string | undefined;
  /** The container, or the sandbox itself. */
  readonly id: string;
  readonly what: 'containerStarted' | 'sandboxRemoved' | 'other';
}

export interface CriClient {
  version(): Promise<string>;
  /** Of one pod, or all. */
  sandboxes(podUid?: string): Promise<CriSandbox[]>;
  containers(podUid?: string): Promise<CriContainer[]>;
  /** Process of the sandbox, 0 where it has none; undefined when there is no such sandbox. */
  sandboxPid(id: string): Promise<number | undefined>;
  /** Process of the container, 0 once it ended; undefined when there is no such container. */
  containerPid(id: string): Promise<number | undefined>;
  /** Calls back for each event until the stream breaks, which rejects, or the runtime ends it or the signal aborts. The runtime says nothing until the first event. */
  events(listener: (event: CriEvent) => void, signal: AbortSignal): Promise<void>;
  close(): void;
}

const podUidLabel = 'io.kubernetes.pod.uid';
const deadlineMs = 10_000;
const service = `/${RuntimeService.typeName}`;

export function connectCri(socket: string): CriClient {
  const channel = grpcChannel(socket);

  async function call<I extends DescMessage, O extends DescMessage>(
    method: string,
    input: I,
    output: O,
    request: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    try {
      const message = toBinary(input, create(input, request));
      return fromBinary(output, await channel.unary(`${service}/${method}`, message, { timeoutMs: deadlineMs }));
    } catch (error) {
      throw translate(method, error);
    }
  }

  return {
    async version() {
      const { runtimeName, runtimeVersion } = await call('Version', VersionRequestSchema, VersionResponseSchema, {});
      return `${runtimeName} ${runtimeVersion}`;
    },
    async sandboxes(podUid) {
      const { items } = await call(
        'ListPodSandbox',
        ListPodSandboxRequestSchema,
        ListPodSandboxResponseSchema,
        ofPod(podUid),
      );
      return items.map(({ id, metadata, state, createdAt }) => ({
        id,
        podUid: metadata?.uid ?? '',
        isReady: state === PodSandboxState.SANDBOX_READY,
        createdAt,
      }));
    },
    async containers(podUid) {
      const { containers } = await call(
        'ListContainers',
        ListContainersRequestSchema,
        ListContainersResponseSchema,
        ofPod(podUid),
      );
      return containers.map(({ id, podSandboxId, state, createdAt }) => ({
        id,
        sandboxId: podSandboxId,
        isRunning: state === ContainerState.CONTAINER_RUNNING,
        createdAt,
      }));
    },
    sandboxPid: (podSandboxId) =>
      pidOf(
        call('PodSandboxStatus', PodSandboxStatusRequestSchema, PodSandboxStatusResponseSchema, {
          podSandboxId,
          verbose: true,
        }),
      ),
    containerPid: (containerId) =>
      pidOf(
        call('ContainerStatus', ContainerStatusRequestSchema, ContainerStatusResponseSchema, {
          containerId,
          verbose: true,
        }),
      ),
    async events(listener, signal) {
      const request = toBinary(GetEventsRequestSchema, create(GetEventsRequestSchema));
      const hear = (message: Uint8Array): void => {
        const event = fromBinary(ContainerEventResponseSchema, message);
        const podUid = event.podSandboxStatus?.metadata?.uid;
        listener({ podUid, id: event.containerId, what: meaning(event) });
      };
      try {
        await channel.stream(`${service}/GetContainerEvents`, request, hear, { signal });
      } catch (error) {
        if (!signal.aborted) throw translate('GetContainerEvents', error);
      }
    },
    close: () => channel.close(),
  };
}

const ofPod = (podUid: string | undefined): { filter?: { labelSelector: Record<string, string> } } =>
  podUid === undefined ? {} : { filter: { labelSelector: { [podUidLabel]: podUid } } };

/** An event about the sandbox itself has its id as that of the container, and may say no more of it. */
function meaning({ containerId, containerEventType, podSandboxStatus }: ContainerEventResponse): CriEvent['what'] {
  const isSandbox = containerId === (podSandboxStatus?.id ?? containerId);
  if (containerEventType === ContainerEventType.CONTAINER_STARTED_EVENT && !isSandbox) return 'containerStarted';
  return containerEventType === ContainerEventType.CONTAINER_DELETED_EVENT && isSandbox ? 'sandboxRemoved' : 'other';
}

class NoSuch extends Unavailable {}

/** The runtime does not know what was asked for, and will not before it is another one. */
export class NotOffered extends Unavailable {}

async function pidOf(
  answer: Promise<{ readonly info: Readonly<Record<string, string>> }>,
): Promise<number | undefined> {
  try {
    const { info } = await answer;
    const { pid } = JSON.parse(info['info'] ?? '{}') as { pid?: unknown };
    return typeof pid === 'number' ? pid : 0;
  } catch (error) {
    if (error instanceof NoSuch) return undefined;
    if (error instanceof SyntaxError) {
      throw new Unavailable('CRI_ANSWER', 'The container runtime gave information that is no JSON', { cause: error });
    }
    throw error;
  }
}

function translate(method: string, cause: unknown): Unavailable {
  const said = cause instanceof Error ? cause.message : String(cause);
  const status = cause instanceof GrpcError ? cause.status : undefined;
  if (status === grpcStatus.notFound) return new NoSuch('CRI_NOT_FOUND', said, { cause });
  if (status === grpcStatus.unimplemented) {
    return new NotOffered('CRI_NOT_OFFERED', `The container runtime does not offer ${method}: ${said}`, { cause });
  }
  return new Unavailable('CRI_UNAVAILABLE', `The container runtime does not answer ${method}: ${said}`, { cause });
}
