/**
 * Runs every benchmark of this folder, prints one table each and writes `dist/bench.json`. Figures depend on the machine; ratios within
 * one run less so, which is why peers are always measured beside us.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { quietMachine } from './quiet.ts';
import { holds, summary, table, type Bench, type Report } from './report.ts';

const usage = `node bench/run.ts [--strict] [NAME...]

  NAME      Folders of bench/ to run; all by default.
  --strict  Fail if a bar is broken.`;

const { values, positionals } = parseArgs({
  options: { strict: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
  allowPositionals: true,
});

if (values.help) console.log(usage);
else process.exitCode = await main(positionals, values.strict);

async function main(asked: readonly string[], strict: boolean): Promise<number> {
  const there = readdirSync(import.meta.dirname).filter((name) =>
    existsSync(resolve(import.meta.dirname, name, 'bench.ts')),
  );
  const unknown = asked.find((name) => !there.includes(name));
  if (unknown !== undefined) {
    console.error(`bench: there is no "${unknown}"; there are ${there.join(', ')}`);
    return 2;
  }
  const reports: Report[] = [];
  for (const name of asked.length > 0 ? asked : there) {
    const { bench } = (await import(resolve(import.meta.dirname, name, 'bench.ts'))) as { bench: Bench };
    await quietMachine();
    const report = await bench.run((text) => console.error(`${name}: ${text}`));
    console.log(`\n${table(report)}\n`);
    reports.push(report);
  }
  const dist = resolve(import.meta.dirname, '../dist');
  mkdirSync(dist, { recursive: true });
  writeFileSync(resolve(dist, 'bench.json'), `${JSON.stringify(reports.map(summary), null, 2)}\n`);
  return strict && reports.some((report) => !report.bars.every(holds)) ? 1 : 0;
}
