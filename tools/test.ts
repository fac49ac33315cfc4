/**
 * `make test`: the checks, then every tier that this machine can carry, one after another (they share two cores). It ends with what
 * failed, the slowest files, and one line for each tier; it names each tier that was left out and why, and fails when anything failed. A tier is left out
 * only when its needs cannot be met; with CI=true that is a failure, too. Names of tiers as arguments run only those, and only then
 * KUBECONFIG counts. `--all` runs also what does not depend on what was changed: see tests/tiers.ts.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runToEnd } from './child.ts';
import type { Duration } from './tests/durations.ts';
import { type Results, countOf, failuresOf, skippedTests, slowest } from './tests/results.ts';
import { type Run, type Tier, localStamp, localTests, tiers } from './tests/tiers.ts';

const root = join(import.meta.dirname, '..');
const reports = join(root, 'dist/test');

const names = process.argv.slice(2).filter((one) => one !== '--all');
const isAll = process.argv.includes('--all');
const asked = tiers.filter(({ name }) => names.includes(name));
// The cluster tier installs the product and makes its processes fail: on a cluster that is in use only where that was asked for.
if (names.length === 0) delete process.env['KUBECONFIG'];
const unknown = names.find((name) => !tiers.some((tier) => tier.name === name));
if (unknown) {
  console.error(`test: there is no tier "${unknown}"; there are ${tiers.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}

mkdirSync(reports, { recursive: true });
const total = { passed: 0, failed: 0, skipped: 0 };
const summary: string[] = [];
const failures: string[] = [];
const durations: Duration[] = [];
const results = new Map<string, Results>();
const local = localStamp();

if (names.length === 0) {
  heading('check');
  if ((await node(['tools/check.ts'])) !== 0) {
    total.failed += 1;
    summary.push('check: FAILED');
  }
}
for (const tier of names.length === 0 ? tiers : asked) await runTier(tier);

if (failures.length > 0) console.log(`\nfailed:\n\n${failures.join('\n\n')}`);
console.log(`\nslowest files:\n${slowest(durations, root).join('\n')}`);
console.log(`\n${summary.join('\n')}\n`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 ? 1 : 0;

async function runTier(tier: Tier): Promise<void> {
  const { name } = tier;
  heading(name);
  const run: Run = { isAll, json: join(reports, `${name}.json`), results, local };
  const reason = tier.lacks();
  if (reason) {
    if (process.env['CI'] === 'true') total.failed += 1;
    return leaveOut(name, reason);
  }
  const idle = tier.idle?.(run);
  if (idle) return leaveOut(name, idle);
  const partly = tier.leavesOut?.(run);
  if (partly) console.log(partly);

  const started = performance.now();
  const found = await resultsOf(tier, run);
  const took = `${Math.round((performance.now() - started) / 1000)} s`;
  if (found.results) results.set(name, found.results);
  const passed = found.results?.numPassedTests ?? 0;
  const skipped = found.results ? countOf(skippedTests(found.results, root, tier.only?.(run))) : 0;
  // A tier can fail without a failed test: a crashed process, a set-up that threw, no test found.
  const failed = Math.max(found.results?.numFailedTests ?? 0, found.isGreen && passed > 0 ? 0 : 1);
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
  const counts = `${passed} passed, ${failed} failed, ${skipped} skipped in ${took}`;
  summary.push(`${name}: ${counts}${partly ? ` (${partly})` : ''}`);
}

async function resultsOf({ name, command }: Tier, run: Run): Promise<{ results?: Results; isGreen: boolean }> {
  const times = join(reports, `${name}.durations.json`);
  for (const path of [run.json, times]) rmSync(path, { force: true });
  process.env['PODLOOM_DURATIONS'] = times;
  const code = await node(command(run));
  if (existsSync(times)) durations.push(...(JSON.parse(readFileSync(times, 'utf8')) as Duration[]));
  if (!existsSync(run.json)) return { isGreen: false };
  const found = JSON.parse(readFileSync(run.json, 'utf8')) as Results;
  failures.push(...found.testResults.flatMap((file) => failuresOf(file, root)).map((text) => `${name}: ${text}`));
  const ofLocal = found.testResults.filter((file) => relative(root, file.name).startsWith(localTests));
  if (ofLocal.length > 0 && ofLocal.every(({ status }) => status === 'passed')) run.local.set();
  return { results: found, isGreen: code === 0 };
}

function leaveOut(name: string, reason: string): void {
  console.log(`left out: ${reason}`);
  summary.push(`${name}: left out: ${reason}`);
}

function node(args: string[]): Promise<number> {
  return runToEnd(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], root);
}

function heading(text: string): void {
  console.log(`\n── ${text} ${'─'.repeat(Math.max(0, 100 - text.length))}`);
}
