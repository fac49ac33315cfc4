/** One HTTP exchange with a registry, over connections that are kept. The only place that knows Node's HTTP client. */
import * as http from 'node:http';
import * as https from 'node:https';
import { RegistryError } from '../errors.ts';

export interface Exchange {
  readonly method: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** Must be read to its end or destroyed. */
  readonly body: http.IncomingMessage;
}

export interface Wire {
  readonly send: (exchange: Exchange) => Promise<Answer>;
  readonly close: () => void;
}

export interface WireOptions {
  /** Certificates of authorities to believe in place of the machine's. */
  readonly ca?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Without a byte for so long, nobody is there any more. */
const silentMs = 60_000;

export function openWire({ ca, signal }: WireOptions): Wire {
  const secure = new https.Agent({ keepAlive: true, ...(ca !== undefined && { ca }) });
  const plain = new http.Agent({ keepAlive: true });
  return {
    send: ({ method, url, headers = {}, body }) =>
      new Promise((resolve, reject) => {
        const failed = (cause: Error): void => {
          if (signal?.aborted) return reject(signal.reason as Error);
          reject(new RegistryError('REGISTRY_AWAY', `${url.host} does not answer: ${cause.message}`, { cause }));
        };
        const common = { method, headers: { ...headers, 'content-length': String(body?.length ?? 0) }, signal };
        const answered = (response: http.IncomingMessage): void =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: response });
        const request =
          url.protocol === 'https:'
            ? https.request(url, { ...common, agent: secure }, answered)
            : http.request(url, { ...common, agent: plain }, answered);
        request.setTimeout(silentMs, () => request.destroy(new Error(`nothing was heard for ${silentMs / 1000} s`)));
        request.on('error', failed);
        request.end(body);
      }),
    close: () => {
      secure.destroy();
      plain.destroy();
    },
  };
}

/** Reads a body that is held in memory, up to a limit. */
export async function readAll({ body }: Answer, limitBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limitBytes)
      throw new RegistryError('TOO_LARGE', `The registry's answer is larger than ${limitBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
