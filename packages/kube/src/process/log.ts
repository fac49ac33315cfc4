/**
 * Structured logs, one JSON object a line on standard output. The only importer of pino.
 *
 * Messages are constant sentences and what varies is in the fields. What looks like a credential is removed here, whoever logs it: by the name of
 * its field down to three levels, and by its form in the text of errors.
 */
import { pino, stdSerializers } from 'pino';
import type { DestinationStream, Logger } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';
type Fields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(fields: Fields, message: string): void;
  info(fields: Fields, message: string): void;
  warn(fields: Fields, message: string): void;
  error(fields: Fields, message: string): void;
  /** A logger that adds these fields to all that it says. */
  child(fields: Fields): Log;
}

export interface LogOptions {
  /** Which program speaks. */
  readonly name: string;
  readonly level?: LogLevel | undefined;
  /** For tests; otherwise standard output. */
  readonly write?: ((line: string) => void) | undefined;
}

const secretNames = [
  'token',
  'accessToken',
  'refreshToken',
  'idToken',
  'bearerToken',
  'authorization',
  'Authorization',
  'password',
  'secret',
  'clientKey',
  'privateKey',
  '["client-key-data"]',
  '["client-certificate-data"]',
];
const paths = ['', '*.', '*.*.'].flatMap((above) =>
  secretNames.map((name) => (name.startsWith('[') ? above.slice(0, -1) + name : above + name)),
);
const jsonWebToken = /\beyJ[\w-]{5,}\.[\w-]+\.[\w-]*/g;
const bearer = /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi;

export function createLog({ name, level = 'info', write }: LogOptions): Log {
  const destination: DestinationStream | undefined = write && { write };
  const options = {
    base: { name },
    level,
    redact: { paths, censor: '[removed]' },
    serializers: { err: describeError },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const root = destination ? pino(options, destination) : pino(options);
  return adapt(() => root);
}

/** Says nothing. */
export const silentLog: Log = createLog({ name: 'silent', level: 'silent' });

/** Removes what has the form of a credential from a text. */
export function withoutCredentials(text: string): string {
  return text.replaceAll(jsonWebToken, '[removed]').replaceAll(bearer, '$1 [removed]');
}

/** A child is made when it first says something: each reconcile has one, and most say nothing. */
function adapt(make: () => Logger): Log {
  let made: Logger | undefined;
  const logger = (): Logger => (made ??= make());
  return {
    debug: (fields, message) => logger().debug(fields, message),
    info: (fields, message) => logger().info(fields, message),
    warn: (fields, message) => logger().warn(fields, message),
    error: (fields, message) => logger().error(fields, message),
    child: (fields) => adapt(() => logger().child(fields)),
  };
}

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? withoutCredentials(error) : error;
  const { type, message, stack, ...rest } = stdSerializers.err(error);
  const { code, retry, status } = rest as { code?: unknown; retry?: unknown; status?: unknown };
  return { type, code, retry, status, message: withoutCredentials(message), stack: withoutCredentials(stack) };
}
