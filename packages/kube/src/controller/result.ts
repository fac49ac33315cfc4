/** What a reconciler answers: done, look again in a while, or (as if it had thrown, but after it wrote its status) failed. */

export type Result =
  | { readonly kind: 'done' }
  | { readonly kind: 'retryAfter'; readonly ms: number; readonly why: string }
  | { readonly kind: 'failed'; readonly error: unknown };

/** The object is as it should be, until something changes. */
export const done: Result = Object.freeze({ kind: 'done' });

/** For waiting on something outside that cannot be watched. `why` is for the log. */
export function retryAfter(ms: number, why: string): Result {
  return { kind: 'retryAfter', ms, why };
}

/** The same as throwing the error. */
export function retry(error: unknown): Result {
  return { kind: 'failed', error };
}
