/**
 * What can go wrong with images and registries. The fields are those of all errors of the project (`code`, `retry`), without its package: this
 * one can be used by itself.
 */

type Retry = 'whenChanged' | 'backoff';

/** An image, or a part of one, that is not as it must be: trying again is pointless. */
export class InvalidImage extends Error {
  readonly retry: Retry = 'whenChanged';
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** A registry that did not do what it was asked for. */
export class RegistryError extends Error {
  readonly retry: Retry;
  readonly code: string;
  /** The HTTP status of its answer; undefined where there was none. */
  readonly status: number | undefined;
  constructor(code: string, message: string, options: ErrorOptions & { status?: number | undefined } = {}) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.status = options.status;
    const { status = 503 } = options;
    this.retry = status >= 400 && status < 500 && status !== 408 && status !== 429 ? 'whenChanged' : 'backoff';
  }
}
