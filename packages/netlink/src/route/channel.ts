/**
 * How a family reaches the kernel: at once, or collected for one send. Families are written against this, so each verb exists
 * once and works in both.
 */
import { setImmediate } from 'node:timers/promises';
import type { Message } from '../codec/message.ts';
import type { NetlinkError } from '../wire/error.ts';
import type { Request } from '../wire/request.ts';
import type { OnReply, Socket } from '../wire/socket.ts';

/** A link by its index, or by name (which costs one more question to the kernel where a message has no place for a name). */
export type LinkRef = number | string;

export interface Channel {
  /** Changes wait for the batch's end. */
  readonly collects: boolean;
  /** A change without an answer of interest. */
  run(request: Request): void;
  /** A change whose answer is of interest; in a batch it comes with the batch, and the result is 0. */
  runFor(request: Request, onReply: (...reply: Parameters<OnReply>) => number): number;
  get<Out>(request: Request, answer: Message<Out, never>): Out;
  dump<Out>(request: Request, answer: Message<Out, never>): Out[];
  dumpChunks<Out>(request: Request, answer: Message<Out, never>): Generator<Out[], void, void>;
}

/** Gives other work a turn between two datagrams of a dump, so that a long one does not hold up the event loop. */
export async function* unhurried<T>(chunks: Generator<T, void, void>): AsyncGenerator<T, void, void> {
  for (const chunk of chunks) {
    yield chunk;
    await setImmediate();
  }
}

export function directChannel(socket: Socket): Channel {
  return {
    collects: false,
    run: (request) => socket.run(request),
    runFor: (request, onReply) => {
      let result = 0;
      socket.run(request, (...reply) => {
        result = onReply(...reply);
      });
      return result;
    },
    get: (request, answer) => socket.get(request, answer),
    dump: (request, answer) => socket.dump(request, answer),
    dumpChunks: (request, answer) => socket.dumpChunks(request, answer),
  };
}

/** Collects changes. A question is answered at once, after what was collected before it, because it may be about that. */
export function batchChannel(socket: Socket): Channel & { flush(): void } {
  let waiting: Request[] = [];
  const flush = (): void => {
    if (waiting.length === 0) return;
    const requests = waiting;
    waiting = [];
    const first = socket.exchange(requests).find((error): error is NetlinkError => error !== undefined);
    if (first !== undefined) throw first;
  };
  return {
    collects: true,
    run: (request) => void waiting.push(request),
    runFor: (request) => {
      waiting.push(request);
      return 0;
    },
    get: (request, answer) => {
      flush();
      return socket.get(request, answer);
    },
    dump: (request, answer) => {
      flush();
      return socket.dump(request, answer);
    },
    dumpChunks: (request, answer) => {
      flush();
      return socket.dumpChunks(request, answer);
    },
    flush,
  };
}
