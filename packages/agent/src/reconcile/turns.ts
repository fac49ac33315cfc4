/**
 * The kernel's part of a reconcile blocks the process. One of them a turn of the event loop, however many pods there are: between two, statuses are
 * sent, news is heard, and whoever asks for our health gets an answer. Who comes alone waits for nothing.
 */

/** Each call resolves in a turn of its own, in the order of the calls. */
export function turns(): () => Promise<void> {
  const line: (() => void)[] = [];
  let isTaken = false;
  function next(): void {
    const go = line.shift();
    isTaken = go !== undefined;
    if (!go) return;
    setImmediate(next);
    go();
  }
  return () => {
    if (isTaken) return new Promise((resolve) => line.push(resolve));
    isTaken = true;
    setImmediate(next);
    return Promise.resolve();
  };
}
