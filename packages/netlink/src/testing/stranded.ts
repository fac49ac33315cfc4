/** A process that cannot find its way back from a namespace. It must end: `netns.node.test.ts` sees how. */
import { closeSync, readdirSync, readlinkSync } from 'node:fs';
import { open } from '../namespace.ts';

const home = readlinkSync('/proc/self/ns/net');
using netns = open({ create: true });
netns.run<void>(() => {
  for (const fd of readdirSync('/proc/self/fd')) if (pointsTo(fd, home)) closeSync(Number(fd));
});
process.stdout.write('still here');

function pointsTo(fd: string, target: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`) === target;
  } catch {
    return false; // the descriptor of the listing itself
  }
}
