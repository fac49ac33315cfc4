/**
 * Keeps the arrows of the architecture (docs/explanation/architecture.md): which package may import which. The table here is the
 * rule; each package's `package.json` and `tsconfig.json` must say the same, and knip refuses an import that `package.json` does not list.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Packages that are still to come are named, too. */
const mayImport: Record<string, string[]> = {
  api: [],
  netlink: [],
  oci: [],
  network: ['api'],
  labs: ['api'],
  kube: ['api'],
  agent: ['netlink', 'network', 'kube', 'api'],
  'network-operator': ['network', 'kube', 'api'],
  'labs-operator': ['labs', 'oci', 'kube', 'api'],
  vm: ['oci', 'kube', 'api'],
  doors: ['netlink', 'kube', 'api'],
  local: ['oci', 'kube', 'api'],
  cli: ['local', 'agent', 'network-operator', 'labs-operator', 'vm', 'doors', 'network', 'netlink', 'kube', 'api'],
  dashboard: ['network', 'labs', 'api'],
};

const packages = join(import.meta.dirname, '../packages');
const problems: string[] = [];
for (const name of readdirSync(packages)) {
  const allowed = mayImport[name];
  if (!allowed) {
    problems.push(`packages/${name} is not in the table of tools/check-arrows.ts`);
    continue;
  }
  const manifest = readJson(name, 'package.json') as { dependencies?: Record<string, string> };
  const imported = Object.keys(manifest.dependencies ?? {})
    .filter((dependency) => dependency.startsWith('@podloom/'))
    .map((dependency) => dependency.slice('@podloom/'.length));
  for (const other of imported.filter((dependency) => !allowed.includes(dependency))) {
    problems.push(`packages/${name} may not import ${other}: the code sits in the wrong room, or the arrow is missing`);
  }
  const project = readJson(name, 'tsconfig.json') as { references?: { path: string }[] };
  const references = (project.references ?? []).map(({ path }) => path.replace('../', ''));
  const differs = [
    ...imported.filter((d) => !references.includes(d)),
    ...references.filter((d) => !imported.includes(d)),
  ];
  if (differs.length > 0) {
    problems.push(`packages/${name}: package.json and tsconfig.json differ about ${differs.join(', ')}`);
  }
  if (!existsSync(join(packages, name, 'README.md'))) problems.push(`packages/${name} has no README.md`);
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

function readJson(name: string, file: string): unknown {
  return JSON.parse(readFileSync(join(packages, name, file), 'utf8'));
}
