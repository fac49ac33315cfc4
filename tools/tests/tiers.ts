/** The tiers in their order, what each needs, and what of it can be left out of `make test`. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Results, countOf, skippedTests } from './results.ts';
import { type Stamp, stampFor } from './stamp.ts';

export interface Run {
  /** `make test-all`: nothing is left out that could run. */
  readonly isAll: boolean;
  /** Where vitest's JSON report goes. */
  readonly json: string;
  /** Of the tiers that ran before this one. */
  readonly results: ReadonlyMap<string, Results>;
  readonly local: Stamp;
}

export interface Tier {
  readonly name: string;
  /** Why it cannot run here, or undefined. */
  readonly lacks: () => string | undefined;
  readonly command: (run: Run) => string[];
  /** Why there is nothing for it to do. */
  readonly idle?: (run: Run) => string | undefined;
  /** The tests that it is asked for, by file, where it is not asked for all: that the others were skipped says nothing. */
  readonly only?: (run: Run) => Readonly<Record<string, readonly string[]>> | undefined;
  /** Which part of it does not run, and why. */
  readonly leavesOut?: (run: Run) => string | undefined;
}

const root = join(import.meta.dirname, '../..');
export const localTests = 'test/local/';

/** What the clusters of `test/local` are made of, and what starts them. That the product works on such a cluster is for the rest of the tier. */
export const localStamp = (): Stamp =>
  stampFor('local', root, [
    'packages/local',
    'packages/kube',
    'packages/api',
    'packages/oci',
    'packages/cli/src/commands/cluster.ts',
    'packages/cli/src/main.ts',
    'packages/cli/src/program.ts',
    'test/local',
    'test/setup',
    'deploy/image',
    'tools/bootstrap.sh',
    'tools/clients.ts',
    'tools/deploy.ts',
    'tools/labs',
    'tools/labs.ts',
    'tools/narrated.ts',
    'tools/up.ts',
    'Makefile',
    'package-lock.json',
  ]);

const isRoot = process.getuid?.() === 0;
const needsRoot = () => (isRoot ? undefined : 'it makes network namespaces, which needs root: sudo make test');
const folders = (process.env['PATH'] ?? '').split(':');
const lackOf = (program: string) =>
  folders.some((folder) => existsSync(join(folder, program)))
    ? undefined
    : `${program} is not there, and only root can install it`;

const vitest = (project: string, { json, isAll }: Run, ...more: string[]): string[] => [
  'node_modules/.bin/vitest',
  'run',
  `--project=${project}`,
  '--reporter=default',
  '--reporter=json',
  `--reporter=${join(import.meta.dirname, 'durations.ts')}`,
  `--outputFile.json=${json}`,
  ...(isAll ? [] : ['--exclude=bench/**']),
  ...more,
];

const isLocalLeftOut = ({ isAll, local }: Run): boolean => !isAll && local.isGreen;

/** What the node tier of this run skipped of what the kernel tier has; undefined where that tier has to run whole. */
function leftByNode({ isAll, results }: Run): Record<string, string[]> | undefined {
  const node = results.get('node');
  if (isAll || !node) return undefined;
  const skipped = skippedTests(node, root);
  return Object.fromEntries(Object.entries(skipped).filter(([file]) => file.startsWith('packages/netlink/')));
}

export const tiers: readonly Tier[] = [
  { name: 'unit', lacks: () => undefined, command: (run) => vitest('unit', run) },
  { name: 'node', lacks: needsRoot, command: (run) => vitest('node', run) },
  { name: 'api', lacks: () => undefined, command: (run) => vitest('api', run) },
  {
    name: 'cluster',
    lacks: () => (process.env['KUBECONFIG'] ? undefined : needsRoot()),
    command: (run) => vitest('cluster', run, ...(isLocalLeftOut(run) ? [`--exclude=${localTests}**`] : [])),
    leavesOut: (run) =>
      isLocalLeftOut(run) ? `without ${localTests}: what it depends on is as it was when it was green here` : undefined,
  },
  {
    name: 'kernel',
    lacks: () => (process.arch === 'x64' ? lackOf('qemu-system-x86_64') : 'its QEMU machine is x86-64'),
    command: (run) => {
      const left = leftByNode(run);
      return ['test/kernel/run.ts', '--json', run.json, ...(left ? ['--only', JSON.stringify(left)] : [])];
    },
    only: leftByNode,
    idle: (run) => {
      const left = leftByNode(run);
      return left && countOf(left) === 0 ? 'this kernel has run all of it in the node tier' : undefined;
    },
    leavesOut: (run) => {
      const left = leftByNode(run);
      return left && `only the ${countOf(left)} tests that this kernel could not run, and those of the machine itself`;
    },
  },
];
