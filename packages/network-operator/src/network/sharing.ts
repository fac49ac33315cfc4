/** One answer for all who ask the same while another is on its way. Nobody gets one that was on its way already: it may not know what they know. */
export function sharing<T>(ask: (what: string) => Promise<T>): (what: string) => Promise<T> {
  const running = new Map<string, Promise<unknown>>();
  const next = new Map<string, Promise<T>>();
  return (what) => {
    const known = next.get(what);
    if (known) return known;
    const begin = async (): Promise<T> => {
      next.delete(what);
      const answer = ask(what);
      const over = answer.then(
        () => undefined,
        () => undefined,
      );
      running.set(what, over);
      try {
        return await answer;
      } finally {
        if (running.get(what) === over) running.delete(what);
      }
    };
    const mine = (running.get(what) ?? Promise.resolve()).then(begin);
    next.set(what, mine);
    return mine;
  };
}
