/**
 * `make check`: everything that can be said about the tree without running it, side by side, in well under a minute.
 * A check that passes is one line; one that fails shows its own output. `--fix` mends what can be mended.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

interface Check {
  name: string;
  command: string[];
  fix?: string[];
}

const checks: Check[] = [
  { name: 'types', command: ['tsc', '-b'] },
  { name: 'lint', command: ['oxlint', '--type-aware', '--quiet'], fix: ['oxlint', '--type-aware', '--quiet', '--fix'] },
  {
    name: 'format',
    command: ['prettier', '--check', '--cache', '--log-level=warn', '.'],
    fix: ['prettier', '--write', '--cache', '--log-level=warn', '.'],
  },
  { name: 'unused code', command: ['knip'] },
  { name: 'arrows', command: ['node', 'tools/check-arrows.ts'] },
  {
    name: 'kinds generated',
    command: ['node', 'packages/api/src/generate.ts', '--check'],
    fix: ['node', 'packages/api/src/generate.ts'],
  },
  {
    name: 'chart generated',
    command: ['node', 'tools/chart-kinds.ts', '--check'],
    fix: ['node', 'tools/chart-kinds.ts'],
  },
  {
    name: 'settings generated',
    command: ['node', 'tools/settings-reference.ts', '--check'],
    fix: ['node', 'tools/settings-reference.ts'],
  },
  { name: 'links', command: ['node', 'tools/check-links.ts'] },
];

const fixing = process.argv.includes('--fix');
const failed: string[] = [];
const queue = [...checks];
await Promise.all(Array.from({ length: fixing ? 1 : availableParallelism() }, work));
if (failed.length > 0) {
  console.error(
    `check: failed: ${failed.join(', ')}${fixing ? '' : ' (`make fix` mends format, lint and generated files)'}`,
  );
  process.exitCode = 1;
}

async function work(): Promise<void> {
  for (let check = queue.shift(); check; check = queue.shift()) {
    const started = performance.now();
    const { code, output } = await run(fixing ? (check.fix ?? check.command) : check.command);
    const took = `${((performance.now() - started) / 1000).toFixed(1)} s`;
    console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${check.name} (${took})`);
    if (code !== 0) {
      failed.push(check.name);
      console.log(output.trimEnd());
    }
  }
}

function run([program, ...args]: string[]): Promise<{ code: number; output: string }> {
  const bins = `${import.meta.dirname}/../node_modules/.bin`;
  return new Promise((resolve, reject) => {
    const child = spawn(program!, args, {
      cwd: `${import.meta.dirname}/..`,
      env: { ...process.env, PATH: `${bins}:${process.env['PATH']}`, NODE_NO_WARNINGS: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }));
  });
}
