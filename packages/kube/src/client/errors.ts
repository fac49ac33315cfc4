/**
 * The border between HTTP and our errors: every failed call becomes one of the four classes of @podloom/api, once, here. Above it
 * nobody reads a status code; `isNotFound` and its siblings ask what happened, `retry` says what to do.
 *
 * Neither request bodies nor headers ever get into a message: they hold tokens and Secrets.
 */
import { Bug, Conflict, InvalidInput, PodloomError, Unavailable } from '@podloom/api';

export interface StatusCause {
  readonly field?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** What the server said, for those who must look closer. */
export interface ApiStatus {
  readonly status: number;
  readonly reason: string;
  readonly causes: readonly StatusCause[];
  readonly retryAfterMs?: number;
}

export type ApiError = PodloomError & { readonly api: ApiStatus };

class ApiInvalidInput extends InvalidInput {
  readonly api: ApiStatus;
  constructor(code: string, message: string, api: ApiStatus) {
    super(code, message);
    this.api = api;
  }
}
class ApiConflict extends Conflict {
  readonly api: ApiStatus;
  constructor(code: string, message: string, api: ApiStatus) {
    super(code, message);
    this.api = api;
  }
}
class ApiUnavailable extends Unavailable {
  readonly api: ApiStatus;
  constructor(code: string, message: string, api: ApiStatus) {
    super(code, message);
    this.api = api;
  }
}
class ApiBug extends Bug {
  readonly api: ApiStatus;
  constructor(code: string, message: string, api: ApiStatus) {
    super(code, message);
    this.api = api;
  }
}

type ApiErrorClass = typeof ApiInvalidInput | typeof ApiConflict | typeof ApiUnavailable | typeof ApiBug;
type Meaning = readonly [code: string, type: ApiErrorClass, advice?: string];

/**
 * What is not there, may not be done yet, or was changed meanwhile is worth another try, because what makes it right (another
 * object, a role binding, a newer copy in the cache) is not the object that the caller works on.
 */
const meaningByReason: Readonly<Record<string, Meaning>> = {
  NotFound: ['API_NOT_FOUND', ApiUnavailable],
  AlreadyExists: ['API_ALREADY_EXISTS', ApiConflict],
  Conflict: ['API_STALE', ApiUnavailable, 'read it again and repeat the change'],
  Gone: ['API_GONE', ApiUnavailable, 'list again'],
  Expired: ['API_GONE', ApiUnavailable, 'list again'],
  Forbidden: ['API_FORBIDDEN', ApiUnavailable, 'grant the right to this user, or ask an administrator'],
  Unauthorized: ['API_UNAUTHORIZED', ApiUnavailable, 'check the credentials in the kubeconfig'],
  Invalid: ['API_INVALID', ApiInvalidInput],
  BadRequest: ['API_BAD_REQUEST', ApiInvalidInput],
  RequestEntityTooLarge: ['API_TOO_LARGE', ApiInvalidInput],
  TooManyRequests: ['API_TOO_MANY_REQUESTS', ApiUnavailable],
  MethodNotAllowed: ['API_METHOD_NOT_ALLOWED', ApiBug],
  NotAcceptable: ['API_NOT_ACCEPTABLE', ApiBug],
  UnsupportedMediaType: ['API_UNSUPPORTED_MEDIA_TYPE', ApiBug],
};

const reasonByStatus: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
};

/** `what` names the call ("PUT /api/v1/…"); `body` is whatever the server sent, a Status or not. */
export function translateStatus(status: number, body: unknown, what: string, retryAfterMs?: number): ApiError {
  const said = statusOf(body);
  const reason = said.reason || reasonByStatus[status] || (status >= 500 ? 'ServerError' : 'Unknown');
  const causes = said.causes;
  const api: ApiStatus = { status, reason, causes, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  const [code, type, advice] = meaningOf(status, reason, causes);
  const message = said.message || `the server answered ${status} ${reason}`;
  return new type(code, `${message}${advice ? `; ${advice}` : ''} (${what})`, api);
}

function meaningOf(status: number, reason: string, causes: readonly StatusCause[]): Meaning {
  if (reason === 'Conflict' && causes.some((cause) => cause.reason === 'FieldManagerConflict')) {
    return ['API_FIELD_CONFLICT', ApiConflict, 'leave the field to its manager, or apply with force'];
  }
  const known = meaningByReason[reason] ?? meaningByReason[reasonByStatus[status] ?? ''];
  return known ?? ['API_UNAVAILABLE', ApiUnavailable];
}

function statusOf(body: unknown): { reason: string; message: string; causes: readonly StatusCause[] } {
  const status = (typeof body === 'object' && body !== null ? body : {}) as {
    reason?: unknown;
    message?: unknown;
    details?: { causes?: unknown } | null;
  };
  const causes = status.details?.causes;
  return {
    reason: typeof status.reason === 'string' ? status.reason : '',
    message: typeof status.message === 'string' ? withoutEchoedInput(status.message) : '',
    causes: Array.isArray(causes) ? (causes as StatusCause[]) : [],
  };
}

/** A body that the server cannot decode comes back in part ("error found in #10 byte of ...|…|..."), perhaps from a Secret. */
function withoutEchoedInput(message: string): string {
  return message.replace(/,? ?error found in #\d+ byte of [\s\S]*$/, '');
}

/** The connection failed, or broke: nothing is known of what the server did. */
export function connectionError(what: string, cause: unknown): Unavailable {
  const reason = cause instanceof Error ? rootMessage(cause) : String(cause);
  return new Unavailable('API_UNREACHABLE', `the API server cannot be reached: ${reason} (${what})`, { cause });
}

function rootMessage(error: Error): string {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return rootMessage(error.errors[0]);
  return error.message || error.name;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof PodloomError && error.code === code;
}

export const isNotFound = (error: unknown): boolean => hasCode(error, 'API_NOT_FOUND');
export const isAlreadyExists = (error: unknown): boolean => hasCode(error, 'API_ALREADY_EXISTS');
/** The object was changed since it was read (or its precondition does not hold). */
export const isStale = (error: unknown): boolean => hasCode(error, 'API_STALE');
/** Server-side apply: another manager owns a field that we set. */
export const isFieldConflict = (error: unknown): boolean => hasCode(error, 'API_FIELD_CONFLICT');
/** Any 409 that is not "already exists". */
export const isConflict = (error: unknown): boolean => isStale(error) || isFieldConflict(error);
/** The resourceVersion or continue token is too old (410). */
export const isGone = (error: unknown): boolean => hasCode(error, 'API_GONE');
export const isForbidden = (error: unknown): boolean => hasCode(error, 'API_FORBIDDEN');
export const isUnauthorized = (error: unknown): boolean => hasCode(error, 'API_UNAUTHORIZED');
export const isInvalid = (error: unknown): boolean => hasCode(error, 'API_INVALID');
export const isTooManyRequests = (error: unknown): boolean => hasCode(error, 'API_TOO_MANY_REQUESTS');
/** The server could not be reached, or the connection broke. */
export const isUnreachable = (error: unknown): boolean => hasCode(error, 'API_UNREACHABLE');

/** The answer, or undefined where there is no such object (any more). */
export async function unlessGone<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export function isApiError(error: unknown): error is ApiError {
  return error instanceof PodloomError && 'api' in error;
}
