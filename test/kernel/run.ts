/**
 * The kernel tier: runs the node tests of `netlink`, as they are, under Debian's cloud kernel in a QEMU machine, because few build
 * machines have a kernel with every link type. `node test/kernel/run.ts --help` says how to call it.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { debianKernel } from './debian-kernel.ts';
import { runMachine } from './machine.ts';
import { onlyFile } from './only.ts';
import { seedOfTests } from '../setup/seed.ts';
import { missingResult, type TestResults } from './results.ts';

const usage = `node test/kernel/run.ts [--files PATTERN...] [--only JSON] [--json PATH] [--seconds N]

  --files    Run only test files whose path contains one of these. All of the tier by default.
  --only     Of the node tier's files run only these tests: an object of full names by file.
  --json     Write the results there, in the format of vitest's JSON reporter.
  --seconds  Give up after that many seconds (default 3600).`;

const { values, positionals } = parseArgs({
  options: {
    files: { type: 'string', multiple: true, default: [] },
    only: { type: 'string' },
    json: { type: 'string' },
    seconds: { type: 'string', default: '3600' },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});

if (values.help) {
  console.log(usage);
} else {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));
  process.exitCode = await run([...values.files, ...positionals], Number(values.seconds));
}

async function run(files: readonly string[], seconds: number): Promise<number> {
  const { json, only } = values;
  const root = resolve(import.meta.dirname, '../..');
  const kernel = debianKernel();
  console.log(`Linux ${kernel.release} in QEMU`);
  const snapshot = snapshotOf(root);
  if (only !== undefined) writeFileSync(join(snapshot, onlyFile), only);
  const machine = await runMachine({
    kernel,
    init: resolve(import.meta.dirname, 'init.sh'),
    environment: {
      PODLOOM_ROOT: root,
      PODLOOM_SNAPSHOT: snapshot,
      PODLOOM_NODE: process.execPath,
      PODLOOM_MODPROBE: kernel.modprobe,
      PODLOOM_SEED: String(seedOfTests()),
      ...(process.stdout.isTTY ? {} : { NO_COLOR: '1' }),
    },
    args: files,
    seconds,
    onOutput: (chunk) => process.stdout.write(chunk),
  });
  const trouble = machine.trouble ?? (machine.result === '' ? 'The tests ended without a result' : undefined);
  const results = trouble === undefined ? (JSON.parse(machine.result) as TestResults) : missingResult(trouble);
  if (json !== undefined) writeFileSync(json, JSON.stringify(results));
  if (trouble !== undefined)
    console.error(`${trouble}. The end of the console:\n${machine.console.split('\n').slice(-40).join('\n')}`);
  return results.success ? 0 : 1;
}

/** A copy of the sources: the guest remembers the sizes of files, so one that grows under its hands would be read cut off. */
function snapshotOf(root: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'podloom-kernel-sources-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const part of ['packages', 'test']) cpSync(join(root, part), join(folder, part), { recursive: true });
  return folder;
}
