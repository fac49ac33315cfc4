/**
 * Writes deploy/chart/files/kinds.yaml, over which the roles in the chart range: the kinds that people write to ask for networks, from the registry.
 * With --check it writes nothing and fails where the file is not what it would write.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sourceTypes } from '@podloom/network';
import { stringify } from 'yaml';

const file = join(import.meta.dirname, '../deploy/chart/files/kinds.yaml');

const sources = sourceTypes.map((type) => ({
  group: type.kind.group,
  plural: type.kind.plural,
  // What is another project's gets no finalizer, and tenants their rights to it from there.
  isOurs: type.finalizer !== undefined,
  hasStatus: type.report !== undefined,
}));
const text = `# Generated from the registry of sources by \`make fix\`; do not edit.\n${stringify({ sources })}`;

if (!process.argv.includes('--check')) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
} else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
  console.error('deploy/chart/files/kinds.yaml is not what the registry says; run: make fix');
  process.exitCode = 1;
}
