/**
 * For node tests: what others say about a namespace (iproute2, nft, ethtool), and what to do when this machine's kernel lacks
 * something. In the kernel tier nothing may lack.
 */
import { execFileSync } from 'node:child_process';
import type { Netns } from '../namespace.ts';
import { isNetlinkError } from '../wire/error.ts';

/** Runs a program inside the namespace: a child belongs to the namespace that its thread was in. */
export function tool(netns: Netns, line: string, input?: string): string {
  const [program, ...args] = line.split(' ');
  return netns.run(() => execFileSync(program!, args, { encoding: 'utf8', input, stdio: ['pipe', 'pipe', 'pipe'] }));
}

/** The same, for programs that print JSON. Nothing printed is an empty list. */
export function jsonTool(netns: Netns, line: string): Record<string, unknown>[] {
  return JSON.parse(tool(netns, line) || '[]') as Record<string, unknown>[];
}

/**
 * The device that a module for tunnels gives every namespace. It comes when the module does, also into namespaces that are there already and because
 * of another test: it belongs in no comparison.
 */
export const isFallbackDevice = (name: unknown): boolean =>
  /^(tunl|gre|gretap|erspan|ip_vti|sit|ip6tnl|ip6gre|ip6_vti)0$/.test(String(name));

/** Whether the address answers a ping from the namespace before long: links and neighbours take a moment, on a loaded machine a long one. */
export function answers(netns: Netns, address: string): boolean {
  const untilMs = performance.now() + 60_000;
  while (performance.now() < untilMs) if (answersAtOnce(netns, address)) return true;
  return false;
}

/** The same for a single packet. */
export function answersAtOnce(netns: Netns, address: string): boolean {
  try {
    return tool(netns, `ping -n -c 1 -W 1 ${address}`).includes(' 0% packet loss');
  } catch {
    return false; // ping's way to say that nothing came back
  }
}

/** Says that the kernel has no such thing: unknown kind, family or protocol. */
const lacking = new Set(['ENOENT', 'EOPNOTSUPP', 'EPROTONOSUPPORT', 'EAFNOSUPPORT']);

/** Tries `work` in a test; if the kernel lacks what it needs, the test is skipped with the reason, or fails in the kernel tier. */
export function whereKernelHas(what: string, context: { skip(note: string): never }, work: () => void): void {
  try {
    work();
  } catch (error) {
    const lacks = isNetlinkError(error) && lacking.has(error.code);
    if (!lacks || process.env['PODLOOM_KERNEL_TIER'] === '1') throw error;
    context.skip(`This kernel has no ${what}: ${error.message}`);
  }
}
