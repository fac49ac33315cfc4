/**
 * Lets so many calls run at a time, in the order in which they came. Hundreds of pods that change at once would otherwise open connection
 * after connection to the API server, each carrying the hundred streams that undici puts on one.
 */
export type InTurn = <T>(signal: AbortSignal | undefined, call: () => Promise<T>) => Promise<T>;

export function turns(most: number): InTurn {
  // A set keeps the order, and who gives up can leave from the middle.
  const line = new Set<() => void>();
  let running = 0;

  function turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        line.delete(go);
        reject(signal?.reason as Error);
      };
      line.add(go);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  return async (signal, call) => {
    signal?.throwIfAborted();
    if (running >= most) await turn(signal);
    else running += 1;
    try {
      return await call();
    } finally {
      // Who is next takes over this turn, so that nobody can slip in between.
      const [next] = line;
      if (next) {
        line.delete(next);
        next();
      } else running -= 1;
    }
  };
}
