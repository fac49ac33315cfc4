/** Chooses a range that neither this machine nor another cluster uses. */
import { Unavailable } from '@podloom/api';
import { run } from '../process/run.ts';

const first = 90;
const last = 253;

/** The first free `10.N.0.0/16`. `taken` are addresses or ranges, as "10.90.0.1/24", "10.91.0.0/16" or "10.4.5.6". */
export function chooseNetwork(taken: readonly string[]): number {
  const ranges = taken.map(parseRange).filter((range) => range !== undefined);
  for (let network = first; network <= last; network++) {
    const start = 10 * 2 ** 24 + network * 2 ** 16;
    const end = start + 2 ** 16 - 1;
    if (!ranges.some((range) => range.start <= end && range.end >= start)) return network;
  }
  throw new Unavailable('NO_RANGE', `No free range among 10.${first}.0.0/16 to 10.${last}.0.0/16; take a cluster down`);
}

function parseRange(text: string): { start: number; end: number } | undefined {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)(?:\/(\d+))?$/.exec(text);
  if (!match) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = match.slice(1, 5).map(Number);
  const size = 2 ** (32 - Number(match[5] ?? 32));
  const start = Math.floor((((a * 256 + b) * 256 + c) * 256 + d) / size) * size;
  return { start, end: start + size - 1 };
}

interface Route {
  dst?: string;
}

interface Link {
  addr_info?: { local?: string; prefixlen?: number }[];
}

/** Every range that this machine has an address in or a route to. The default route says nothing. */
export async function observeRanges(): Promise<string[]> {
  const [routes, links] = await Promise.all([
    run('ip', ['-4', '-json', 'route', 'show', 'table', 'all']),
    run('ip', ['-4', '-json', 'address', 'show']),
  ]);
  return [
    ...(parseJson(routes) as Route[]).flatMap(({ dst }) => (dst && dst !== 'default' ? [dst] : [])),
    ...(parseJson(links) as Link[])
      .flatMap((link) => link.addr_info ?? [])
      .flatMap(({ local, prefixlen }) => (local ? [`${local}/${prefixlen ?? 32}`] : [])),
  ];
}

/** `ip` prints nothing at all where there is nothing to show. */
function parseJson(text: string): unknown {
  return JSON.parse(text.trim() || '[]');
}
