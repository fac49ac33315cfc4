/** For node tests: a node and pods as throw-away namespaces, and what `ip` says about them. */
import { execFileSync } from 'node:child_process';
import type { PodNetworkSpec } from '@podloom/api';
import { type Netns, open } from '@podloom/netlink';
import { type DesiredPod, type Observed, type PodPlan, chooseNames, planPod } from '@podloom/network';
import { type Outcome, applySteps } from '../apply/run.ts';
import { type NodeView, nodeView } from '../observe/node.ts';
import { observePod } from '../observe/pod.ts';

export interface World extends Disposable {
  readonly node: Netns;
  readonly pods: readonly Netns[];
  view: NodeView;
}

/** Brings a link of someone else up without fe80:: address, which the kernel would make at a time of its own, in the middle of a comparison. */
const bringUp = (netns: Netns, name: string): void => {
  netns.link.set(name, { afSpec: { inet6: { addrGenMode: 1 } } });
  netns.link.set(name, { up: true });
};

const operational = 6; // IF_OPER_UP

/**
 * The kernel tells a link that its other end is up at a time of its own, too, and gives it a route then. Without waiting for that it would come in the middle
 * of a comparison.
 */
function waitForCarrier(netns: Netns, name: string): void {
  const moment = new Int32Array(new SharedArrayBuffer(4));
  for (let ms = 0; netns.link.get(name).operstate !== operational; ms += 1) {
    if (ms > 120_000) throw new Error(`${name} is not up`);
    Atomics.wait(moment, 0, 0, 1);
  }
}

/** A node with a link, an address, a route and a rule of its own, and pods with an eth0 that someone else made. */
export function makeWorld(pods = 1): World {
  const node = open({ create: true });
  node.link.set('lo', { up: true });
  node.link.add({ kind: 'bridge', name: 'cni0' });
  bringUp(node, 'cni0');
  node.address.add({ link: 'cni0', address: '10.244.0.1/24' });
  node.route.add({ dst: '10.96.0.0/12', via: '10.244.0.254' });
  node.rule.add({ priority: 100, table: 100, from: '10.9.0.0/16' });
  const made = Array.from({ length: pods }, (_, i) => {
    const pod = open({ create: true });
    pod.link.set('lo', { up: true });
    node.link.add({ kind: 'veth', name: `cni${i}p`, master: 'cni0', peer: { name: 'eth0', netns: pod } });
    bringUp(node, `cni${i}p`);
    bringUp(pod, 'eth0');
    waitForCarrier(node, `cni${i}p`);
    waitForCarrier(pod, 'eth0');
    pod.address.add({ link: 'eth0', address: `10.244.0.${i + 2}/24` });
    pod.route.add({ dst: 'default', via: '10.244.0.1' });
    return pod;
  });
  // A bridge is up when a port is, at a time of its own, too.
  if (pods > 0) waitForCarrier(node, 'cni0');
  return {
    node,
    pods: made,
    view: nodeView(node),
    [Symbol.dispose]() {
      for (const netns of [...made, node]) netns.close();
    },
  };
}

/** Runs a program inside the namespace: a child belongs to the namespace that its thread was in. */
export const tool = (netns: Netns, ...[program, ...args]: readonly [string, ...string[]]): string =>
  netns.run(() => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }));

/** All that a node must have the same before and after, as the kernel shows it. Times, counters and learned entries apart. */
export function dump(netns: Netns): string {
  const ask = (...args: string[]): string => tool(netns, 'ip', ...args);
  const rules = ['-4', '-6'].map((family) => ask(family, '-json', 'rule', 'list'));
  const routes = ['-4', '-6'].map((family) => ask(family, '-json', 'route', 'list', 'table', 'all'));
  return [ask('-json', '-details', 'link', 'list'), ask('-json', 'address', 'list'), ...routes, ...rules]
    .join('\n')
    .replaceAll(/"(\w+_(timer|life_time)|fdb_n_learned)":[\d.]+/g, '');
}

export interface Served {
  readonly spec: PodNetworkSpec;
  readonly pod: Netns;
  readonly pid: number;
}

export function look({ view }: World, { spec, pod }: Served, record?: DesiredPod['primaryRecord']): Observed {
  view.touchAll();
  return { node: view.current(), pod: observePod(pod, spec, record) };
}

export function plan(world: World, served: Served, record?: DesiredPod['primaryRecord']): PodPlan {
  const observed = look(world, served, record);
  const names = chooseNames({ spec: served.spec, pid: served.pid, observed });
  return planPod({ namespace: 'cnf-test', spec: served.spec, names, primaryRecord: record }, observed);
}

const mostLooks = 4;

/** Observes, plans and applies, again where the plan says so; `stopAfter` steps the process is gone. */
export function serve(world: World, served: Served, stopAfter = Infinity): Outcome & { readonly steps: number } {
  let steps = 0;
  for (let look = 1; ; look += 1) {
    const next = plan(world, served);
    const namespaces = { node: world.node, pod: served.pod };
    const outcome = applySteps(next.steps.slice(0, stopAfter - steps), namespaces);
    steps = Math.min(stopAfter, steps + next.steps.length);
    const isOver = !next.lookAgain || look === mostLooks || steps === stopAfter;
    if (isOver || outcome.failed.size + outcome.errors.length > 0) return { ...outcome, steps };
  }
}
