/**
 * The kernel's part of a reconcile blocks the process. One of them a turn of the event loop, however many pods there are: between two, statuses are
 * sent, news is heard, and whoever asks for our health gets an answer.
 */

/** Each call resolves in a turn of its own, in the order of the calls. */
export function turns(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
    return last;
  };
}
