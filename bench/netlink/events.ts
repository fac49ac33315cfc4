/** How long it takes until a change in one of many watched namespaces has reached a listener in JavaScript. */
import { monitor, open, type Netns } from '@podloom/netlink';
import { podPath } from './peers.ts';

const loopback = 1;

/**
 * Milliseconds from before the request that makes a change until the listener is called, for each change. The request is included, since
 * nobody can tell when inside it the kernel sent the event; it takes some hundredths of a millisecond.
 */
export async function eventLatencies(namespaces: number, changes: number): Promise<number[]> {
  let arrived: ((pod: number) => void) | undefined;
  await using watch = monitor<number>((event) => arrived?.(event.in));
  const pods: Netns[] = [];
  try {
    for (let pod = 0; pod < namespaces; pod += 1) {
      pods.push(open({ path: podPath(pod) }));
      watch.add(pod, pods[pod]!, ['address']);
    }
    const latencies: number[] = [];
    const change = (pod: number, verb: 'add' | 'delete') =>
      new Promise<void>((resolve) => {
        const start = process.hrtime.bigint();
        arrived = (seen) => {
          if (seen !== pod) return;
          latencies.push(Number(process.hrtime.bigint() - start) / 1e6);
          resolve();
        };
        pods[pod]!.address[verb]({ link: loopback, address: '10.1.0.1/32' });
      });
    // A stride that shares no divisor with the number of namespaces reaches all of them in no simple order.
    for (let round = 0; latencies.length < changes; round += 1) {
      const pod = (round * 197) % namespaces;
      await change(pod, 'add');
      await change(pod, 'delete');
    }
    return latencies;
  } finally {
    for (const pod of pods) pod.close();
  }
}
