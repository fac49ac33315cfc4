/**
 * `make test`: the checks, then every tier that this machine can carry, one after another (they share two cores). It ends with what
 * failed, and one line over all tiers; it names each tier that was left out and why, and fails when anything failed. A tier is left out
 * only when its needs cannot be met; with CI=true that is a failure, too. Names of tiers as arguments run only those, and only then
 * KUBECONFIG counts.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { runToEnd } from './child.ts';

interface Tier {
  name: string;
  /** Why it cannot run here, or undefined. */
  lacks: () => string | undefined;
  command: (json: string) => string[];
}

interface Results {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests?: number;
  success: boolean;
  testResults: FileResult[];
}

/** A file that could not even be loaded has a message and no failed test. */
interface FileResult {
  name: string;
  status: string;
  message: string;
  assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
}

const root = join(import.meta.dirname, '..');
const reports = join(root, 'dist/test');
const vitest = (project: string) => (json: string) => [
  'node_modules/.bin/vitest',
  'run',
  `--project=${project}`,
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${json}`,
];

const isRoot = process.getuid?.() === 0;
const needsRoot = () => (isRoot ? undefined : 'it makes network namespaces, which needs root: sudo make test');
const folders = (process.env['PATH'] ?? '').split(':');
const lackOf = (program: string) =>
  folders.some((folder) => existsSync(join(folder, program)))
    ? undefined
    : `${program} is not there, and only root can install it`;
const tiers: Tier[] = [
  { name: 'unit', lacks: () => undefined, command: vitest('unit') },
  { name: 'node', lacks: needsRoot, command: vitest('node') },
  { name: 'api', lacks: () => undefined, command: vitest('api') },
  { name: 'cluster', lacks: () => (process.env['KUBECONFIG'] ? undefined : needsRoot()), command: vitest('cluster') },
  {
    name: 'kernel',
    lacks: () => (process.arch === 'x64' ? lackOf('qemu-system-x86_64') : 'its QEMU machine is x86-64'),
    command: (json) => ['test/kernel/run.ts', '--json', json],
  },
];

const asked = process.argv.slice(2);
// The cluster tier installs the product and makes its processes fail: on a cluster that is in use only where that was asked for.
if (asked.length === 0) delete process.env['KUBECONFIG'];
const unknown = asked.find((name) => !tiers.some((tier) => tier.name === name));
if (unknown) {
  console.error(`test: there is no tier "${unknown}"; there are ${tiers.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}

mkdirSync(reports, { recursive: true });
const total = { passed: 0, failed: 0, skipped: 0 };
const summary: string[] = [];
const failures: string[] = [];

if (asked.length === 0) {
  heading('check');
  if ((await node(['tools/check.ts'])) !== 0) {
    total.failed += 1;
    summary.push('check: FAILED');
  }
}
for (const tier of tiers) if (asked.length === 0 || asked.includes(tier.name)) await runTier(tier);

if (failures.length > 0) console.log(`\nfailed:\n\n${failures.join('\n\n')}`);
console.log(`\n${summary.join('\n')}\n`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 ? 1 : 0;

async function runTier({ name, lacks, command }: Tier): Promise<void> {
  heading(name);
  const reason = lacks();
  if (reason) {
    console.log(`left out: ${reason}`);
    summary.push(`${name}: left out: ${reason}`);
    if (process.env['CI'] === 'true') total.failed += 1;
    return;
  }
  const json = join(reports, `${name}.json`);
  rmSync(json, { force: true });
  const started = performance.now();
  const code = await node(command(json));
  const took = `${Math.round((performance.now() - started) / 1000)} s`;
  const results = existsSync(json) ? (JSON.parse(readFileSync(json, 'utf8')) as Results) : undefined;
  const passed = results?.numPassedTests ?? 0;
  const skipped = (results?.numPendingTests ?? 0) + (results?.numTodoTests ?? 0);
  // A tier can fail without a failed test: a crashed process, a set-up that threw, no test found.
  const failed = Math.max(results?.numFailedTests ?? 0, code !== 0 || !results || passed === 0 ? 1 : 0);
  for (const file of results?.testResults ?? []) failures.push(...failuresOf(file).map((text) => `${name}: ${text}`));
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
  summary.push(`${name}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${took}`);
}

/** Of each failure its place, and as much of its message as says what was found instead. */
function failuresOf({ name: path, status, message, assertionResults }: FileResult): string[] {
  const file = relative(root, path);
  const tests = assertionResults.filter((test) => test.status === 'failed');
  if (tests.length > 0) {
    return tests.map(
      ({ fullName, failureMessages }) => `${file}: ${fullName}\n${beginning(failureMessages.join('\n'))}`,
    );
  }
  return status === 'failed' ? [`${file}\n${beginning(message)}`] : [];
}

function beginning(message: string): string {
  return stripVTControlCharacters(message)
    .split('\n')
    .slice(0, 12)
    .map((line) => `    ${line}`)
    .join('\n');
}

function node(args: string[]): Promise<number> {
  return runToEnd(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], root);
}

function heading(text: string): void {
  console.log(`\n── ${text} ${'─'.repeat(Math.max(0, 100 - text.length))}`);
}
