/** The one error of this package: what was asked, what the kernel said about it, and which attribute it pointed at. */
import { constants } from 'node:os';
import { SystemCallError } from '../libc.ts';

const names = new Map<number, string>(Object.entries(constants.errno).map(([name, value]) => [value, name]));
names.set(11, 'EAGAIN').set(95, 'EOPNOTSUPP');

/** What a caller can do: the same request may work later, or only after something else changed, or never. */
export type Retry = 'backoff' | 'whenChanged' | 'never';

const later = new Set(['EBUSY', 'EAGAIN', 'EINTR', 'ENOBUFS', 'ENOMEM', 'EMFILE', 'ENFILE']);
const never = new Set(['EPROTO', 'EBADMSG']);

export interface Details {
  /** The kernel's own sentence, where it gave one. */
  readonly kernelMessage?: string | undefined;
  /** Dotted path of the attribute that the kernel pointed at or misses, such as `linkinfo.data.id`. */
  readonly attribute?: string | undefined;
}

export class NetlinkError extends Error {
  /** Name of the errno, such as `EEXIST`. */
  readonly code: string;
  readonly errno: number;
  readonly retry: Retry;
  /** What was asked, such as `link.add`. */
  readonly operation: string;
  readonly kernelMessage: string | undefined;
  readonly attribute: string | undefined;

  constructor(operation: string, errno: number, details: Details = {}, options?: ErrorOptions) {
    const code = names.get(errno) ?? `E${errno}`;
    const where = details.attribute === undefined ? '' : ` (${details.attribute})`;
    const said = details.kernelMessage === undefined ? '' : `: ${details.kernelMessage}`;
    super(`${operation}: ${code}${said}${where}`, options);
    this.name = 'NetlinkError';
    this.code = code;
    this.errno = errno;
    this.retry = later.has(code) ? 'backoff' : never.has(code) ? 'never' : 'whenChanged';
    this.operation = operation;
    this.kernelMessage = details.kernelMessage;
    this.attribute = details.attribute;
  }
}

export const isNetlinkError = (error: unknown, code?: string): error is NetlinkError =>
  error instanceof NetlinkError && (code === undefined || error.code === code);

/** Runs system calls, and turns a failure into a NetlinkError that says what they were for. */
export function translating<T>(operation: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof SystemCallError) {
      throw new NetlinkError(operation, error.errno, { kernelMessage: error.message }, { cause: error });
    }
    const code = (error as NodeJS.ErrnoException).errno;
    if (error instanceof Error && typeof code === 'number' && !(error instanceof NetlinkError)) {
      throw new NetlinkError(operation, Math.abs(code), { kernelMessage: error.message }, { cause: error });
    }
    throw error;
  }
}
