/** Time for those who would have to wait too long. */
import { type Clock, systemClock } from '@podloom/kube';

/** Time that passes so many times slower, but for timestamps. What is done every so often is done seldom, however long the machine takes for the rest. */
export const slowClock = (factor: number): Clock => ({
  now: () => systemClock.now(),
  monotonicMs: () => systemClock.monotonicMs() / factor,
  after: (ms, callback) => systemClock.after(ms * factor, callback),
});

/** Real time that a test can move forward; what becomes due by that runs at once. */
export function jumpingClock(): Clock & { jump(ms: number): void } {
  let aheadMs = 0;
  const timers = new Set<{ dueMs: number; callback: () => void; cancel: () => void }>();
  const monotonicMs = (): number => systemClock.monotonicMs() + aheadMs;
  return {
    now: () => systemClock.now() + aheadMs,
    monotonicMs,
    after(ms, callback) {
      const run = (): void => {
        timers.delete(timer);
        callback();
      };
      const timer = { dueMs: monotonicMs() + ms, callback: run, cancel: systemClock.after(ms, run) };
      timers.add(timer);
      return () => {
        timer.cancel();
        timers.delete(timer);
      };
    },
    jump(ms) {
      aheadMs += ms;
      for (const timer of [...timers].filter(({ dueMs }) => dueMs <= monotonicMs())) {
        timer.cancel();
        timer.callback();
      }
    },
  };
}
