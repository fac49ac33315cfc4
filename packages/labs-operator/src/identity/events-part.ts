/** The address at which Keycloak tells what happened there. It is believed by a shared secret; what it says makes us look, and a login is written down. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { InvalidInput, Unavailable, tenantKind } from '@podloom/api';
import { type Client, type Part, type PartContext, toTime, unlessGone } from '@podloom/kube';
import { type Labels, hasLabels } from '@podloom/labs';
import type { TellingIdentity } from './identity.ts';
import { newsOf } from './keycloak-event.ts';

const { createServer } = process.getBuiltinModule('node:http');

export interface KeycloakEventsOptions {
  readonly port: number;
  readonly host?: string | undefined;
  readonly secret: string;
  /** Of the Tenants that are ours. */
  readonly targetLabels: Labels;
  readonly identity: Pick<TellingIdentity, 'tell'>;
}

const path = '/tenant-webhook';
const mostBytes = 1 << 20;
type Reply = readonly [status: number, text: string];

export const keycloakEvents = (options: KeycloakEventsOptions): Part => ({
  name: 'keycloak-events',
  async start(context) {
    const { port, host } = options;
    const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
      void answer(request, options, context).then(([status, text]) => {
        response.writeHead(status, { 'content-type': 'text/plain', ...(status === 413 && { connection: 'close' }) });
        return response.end(`${text}\n`);
      });
    });
    const ended = Promise.withResolvers<void>();
    server.once('error', (cause) =>
      ended.reject(new Unavailable('PORT', `Port ${port} cannot be served: ${cause.message}`, { cause })),
    );
    server.listen({ port, host });
    context.signal.addEventListener('abort', () => {
      server.close(() => ended.resolve());
      server.closeAllConnections();
    });
    await ended.promise;
  },
});

async function answer(
  request: IncomingMessage,
  { secret, targetLabels, identity }: KeycloakEventsOptions,
  { client, clock, log, signal }: PartContext,
): Promise<Reply> {
  if (request.url?.split('?')[0] !== path) return [404, `there is ${path}`];
  if (request.method !== 'POST') return [405, 'events are posted'];
  try {
    const body = await readBody(request);
    if (body === undefined) return [413, 'the event is too long'];
    if (!isSigned(body, request, secret)) return [401, 'the signature is missing or wrong'];
    const { change, login } = newsOf(body.toString(), clock.now());
    if (login) await writeLogin(client, login, targetLabels, signal);
    if (change) identity.tell(change);
    return [200, 'ok'];
  } catch (error) {
    if (error instanceof InvalidInput) return [400, error.message];
    log.warn({ err: error }, 'An event of Keycloak could not be taken');
    return [500, 'the event could not be taken'];
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > mostBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** As the plugin signs it, or with the secret itself, for whoever can only set a header. */
export function isSigned(body: Buffer, { headers }: Pick<IncomingMessage, 'headers'>, secret: string): boolean {
  const signature = headers['x-keycloak-signature'];
  if (typeof signature === 'string') {
    const wanted = createHmac('sha256', secret).update(body).digest('hex');
    return isSame(
      signature
        .trim()
        .toLowerCase()
        .replace(/^sha256=/, ''),
      wanted,
    );
  }
  const [, bearer] = /^Bearer (.+)$/i.exec(headers.authorization ?? '') ?? [];
  return bearer !== undefined && isSame(bearer.trim(), secret);
}

/** In the same time, wherever they differ. */
function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(digestOf(given), digestOf(wanted));
}

const digestOf = (text: string): Buffer => createHmac('sha256', 'compare').update(text).digest();

/** Never back in time: events may come late and out of turn. */
async function writeLogin(
  client: Client,
  { tenant: name, timeMs }: { readonly tenant: string; readonly timeMs: number },
  targetLabels: Labels,
  signal: AbortSignal,
): Promise<void> {
  const { resource } = tenantKind;
  const tenant = await unlessGone(() => client.get(resource, name, { signal }));
  if (!tenant || !hasLabels(tenant, targetLabels)) return;
  const { lastLogin } = tenant.spec;
  if (lastLogin && Date.parse(lastLogin) >= timeMs - 1_000) return;
  const patch = { metadata: { uid: tenant.metadata.uid }, spec: { lastLogin: toTime(timeMs) } };
  await unlessGone(() => client.patch(resource, name, patch, { type: 'merge', signal }));
}
