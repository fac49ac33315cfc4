/**
 * The four kinds of failure that Podloom knows, because there are four things to do about one. The class says what to do,
 * `code` says what happened and is stable, the message tells the reader what to do, `cause` keeps what was below.
 */

export abstract class PodloomError extends Error {
  abstract readonly retry: 'never' | 'backoff' | 'whenChanged';
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The user's to fix: shown as a condition, not tried again until the input changes. */
export class InvalidInput extends PodloomError {
  readonly retry = 'whenChanged';
}

/** Something else owns what was asked for: shown as a condition that names the owner. */
export class Conflict extends PodloomError {
  readonly retry = 'whenChanged';
}

/** The world is not as needed yet: tried again with backoff. */
export class Unavailable extends PodloomError {
  readonly retry = 'backoff';
}

/** Our own mistake: logged loudly and counted; everything else goes on. */
export class Bug extends PodloomError {
  readonly retry = 'never';
}
