/** The process that `leaks.node.test.ts` watches: visits and requests, measured before and after. */
import { readdirSync, readFileSync } from 'node:fs';
import { open } from '../namespace.ts';
import { unpinNetns } from '../netns.ts';

const VISITS = Number(process.env['NETLINK_VISITS'] ?? 10_000);
const REQUESTS = Number(process.env['NETLINK_REQUESTS'] ?? 100_000);

function measure() {
  for (let i = 0; i < 4; i++) globalThis.gc?.();
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    threads: readdirSync('/proc/self/task').length,
    // Not the whole resident set: pages of files come and go with what else the machine does.
    memory: Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024,
  };
}

const path = `/run/podloom-visits-${process.pid}`;
using pod = open({ create: true, pinned: path });

function visit(times: number): void {
  for (let i = 0; i < times; i++) {
    using netns = open({ path });
    netns.link.get('lo');
  }
}

function ask(times: number): void {
  for (let i = 0; i < times; i++) {
    if (i % 10 === 0) pod.link.list();
    else if (i % 10 === 1) refused();
    else pod.link.get(1);
  }
}

function refused(): void {
  try {
    pod.link.delete('nothing');
  } catch (error) {
    if (!String(error).includes('ENODEV')) throw error;
  }
}

try {
  visit(VISITS / 5);
  ask(REQUESTS / 5);
  const before = measure();
  visit(VISITS);
  ask(REQUESTS);
  process.send?.({ before, after: measure() });
} finally {
  unpinNetns(path);
}
process.disconnect?.();
