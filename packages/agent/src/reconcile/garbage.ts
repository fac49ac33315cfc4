/**
 * Many pods leave much garbage. V8 gives its room back when it finds that little happens, which may be a minute later or never; an agent is on every node, and what
 * it holds is lacking there. So all of it is collected when many pods were looked at and then none for a while: nobody waits then for the tenth of a second that it takes.
 *
 * Needs Node's --expose-gc. Without it the agent works as well, and holds some mebibytes more.
 */
import type { Clock } from '@podloom/kube';

export interface Garbage {
  /** A pod was looked at. */
  made(): void;
  stop(): void;
}

/** What fewer looks leave is little, and left to V8. */
const many = 20;
/** Reports, and what the server tells of them, come after the last look. */
const restMs = 5_000;

/** Not only what is easily found: room that is left over goes back to the node. */
const collectAll =
  globalThis.gc && (() => globalThis.gc?.({ type: 'major', flavor: 'last-resort', execution: 'sync' }));

export function garbage(clock: Clock, collect: (() => void) | undefined = collectAll): Garbage {
  let looks = 0;
  let endRest: (() => void) | undefined;
  return {
    made() {
      looks += 1;
      if (!collect || looks < many) return;
      endRest?.();
      endRest = clock.after(restMs, () => {
        looks = 0;
        collect();
      });
    },
    stop: () => endRest?.(),
  };
}
