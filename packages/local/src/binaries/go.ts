/**
 * Finds a Go toolchain. PODLOOM_GO points at one that the Makefile fetched where the machine has none, or an old one.
 * Go would otherwise download a newer toolchain by itself in the middle of a build, so `GOTOOLCHAIN=local` is set.
 */
import { Unavailable } from '@podloom/api';
import { run } from '../process/run.ts';

export async function findGo(needed: string): Promise<string> {
  const candidates = [...new Set([process.env['PODLOOM_GO'] || 'go', 'go'])];
  const seen: string[] = [];
  for (const go of candidates) {
    const version = await goVersion(go);
    if (version && isAtLeast(version, needed)) return go;
    seen.push(version ? `${go} is ${version}` : `${go} does not run`);
  }
  throw new Unavailable(
    'NO_GO',
    `Go ${needed} or newer is needed to build Kubernetes (${seen.join(', ')}); install it, or point PODLOOM_GO at one`,
  );
}

async function goVersion(go: string): Promise<string | undefined> {
  try {
    return (await run(go, ['env', 'GOVERSION'], { env: { GOTOOLCHAIN: 'local' } })).trim().replace(/^go/, '');
  } catch (error) {
    if (error instanceof Unavailable) return undefined;
    throw error;
  }
}

/** Compares versions of the form 1.26.8, 1.27 or 1.27rc1 by their numbers. */
export function isAtLeast(version: string, needed: string): boolean {
  const [have, want] = [numbers(version), numbers(needed)];
  for (let i = 0; i < Math.max(have.length, want.length); i++) {
    const difference = (have[i] ?? 0) - (want[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

function numbers(text: string): number[] {
  return text.split('.').map((part) => Number.parseInt(part, 10) || 0);
}
