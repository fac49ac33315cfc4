/** One HTTP request to Keycloak: with a limit of time and of size, without following where it is sent. */
import { Unavailable } from '@podloom/api';

// Not imported: an import asks for every name, and some of them load all of Node's own fetch.
const http = process.getBuiltinModule('node:http');
const https = process.getBuiltinModule('node:https');

export interface KeycloakRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface KeycloakAnswer {
  readonly status: number;
  /** As JSON, or undefined where there is none. */
  readonly body: unknown;
  readonly location: string;
}

export type SendToKeycloak = (url: string, request: KeycloakRequest) => Promise<KeycloakAnswer>;

const timeoutMs = 10_000;
const mostBytes = 8 << 20;
const sockets = { keepAlive: true, maxSockets: 8 };

/** Throws Unavailable where there is no answer. */
export function sendToKeycloak(ca: string | undefined): SendToKeycloak {
  const plain = new http.Agent(sockets);
  const secure = new https.Agent({ ...sockets, ...(ca && { ca }) });
  return async (url, { method, headers, body, signal }) => {
    const isSecure = url.startsWith('https:');
    const patience = AbortSignal.timeout(timeoutMs);
    const options = {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) },
      agent: isSecure ? secure : plain,
      signal: signal ? AbortSignal.any([signal, patience]) : patience,
    };
    try {
      return await new Promise<KeycloakAnswer>((resolve, reject) => {
        const sent = (isSecure ? https : http).request(url, options, (response) => {
          const { statusCode: status = 0, headers: answered } = response;
          readText(response)
            .then((text) => ({ status, body: parsed(text), location: answered.location ?? '' }))
            .then(resolve, reject);
        });
        sent.on('error', reject);
        sent.end(body);
      });
    } catch (cause) {
      signal?.throwIfAborted();
      const why = patience.aborted ? `no answer within ${timeoutMs / 1000} s` : reasonOf(cause);
      throw new Unavailable('KEYCLOAK_AWAY', `Keycloak at ${new URL(url).origin} does not answer: ${why}`, { cause });
    }
  };
}

async function readText(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > mostBytes) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Not everything that answers there is Keycloak: a proxy before it tells its failures as a page.
    return undefined;
  }
}

/** Node says nothing where it has tried several addresses. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || String(error);
}
