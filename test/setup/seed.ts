/**
 * The seed of everything random in tests. It comes from the commit: each commit tells other stories, and the same ones however often it is tested, so that
 * what is red can be run again. PODLOOM_SEED chooses one.
 */
import { execFileSync } from 'node:child_process';

/** Where there is no commit, as in a folder that was copied without git. */
const otherwise = 20_261_118;

export function seedOfTests(): number {
  const chosen = Number(process.env['PODLOOM_SEED'] ?? NaN);
  return Number.isSafeInteger(chosen) ? chosen : seedOfCommit();
}

function seedOfCommit(): number {
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    // fast-check takes 32 bits with a sign.
    return Number.parseInt(commit.slice(0, 8), 16) | 0 || otherwise;
  } catch {
    return otherwise;
  }
}
