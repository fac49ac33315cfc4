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
