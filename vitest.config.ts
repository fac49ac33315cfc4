/**
 * The test tiers of docs/explanation/architecture.md as vitest projects. A file's name says which tier it needs: `plan.test.ts` is pure,
 * `link.node.test.ts` needs root and namespaces, `cache.api.test.ts` a real API server, and so on.
 */
import { defineConfig } from 'vitest/config';
import { seedOfTests } from './test/setup/seed.ts';

const special = ['node', 'api', 'cluster', 'kernel'] as const;
const roots = ['packages/*/src', 'test', 'tools', 'deploy', 'bench'];
// Limits for what hangs, not measures: a loaded machine takes its time, and a cold one builds what a hook needs.
const patience = { testTimeout: 300_000, hookTimeout: 1_800_000 };
const files = (suffix: string) => roots.map((root) => `${root}/**/*${suffix}.test.ts`);

// For the processes that run the tests, which ask for it each.
const seed = seedOfTests();
process.env['PODLOOM_SEED'] = String(seed);
if (process.env['PODLOOM_FUZZ'] === undefined)
  console.log(`Random seed ${seed} (PODLOOM_SEED=${seed} tells the same stories again)`);

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: files(''),
          exclude: special.flatMap((tier) => files(`.${tier}`)).concat('**/node_modules/**'),
          setupFiles: ['test/setup/stories.ts'],
          pool: 'forks',
          isolate: false,
          ...patience,
        },
      },
      {
        test: {
          name: 'node',
          include: files('.node'),
          setupFiles: ['test/setup/orphan.ts', 'test/setup/stories.ts'],
          pool: 'forks',
          ...patience,
        },
      },
      {
        test: {
          name: 'api',
          include: files('.api'),
          pool: 'forks',
          setupFiles: ['test/setup/orphan.ts', 'test/setup/stories.ts'],
          globalSetup: ['test/setup/api-server.ts'],
          ...patience,
        },
      },
      {
        test: {
          name: 'cluster',
          include: files('.cluster'),
          pool: 'forks',
          fileParallelism: false,
          setupFiles: ['test/setup/orphan.ts'],
          globalSetup: ['test/setup/cluster.ts'],
          ...patience,
          testTimeout: 900_000,
        },
      },
    ],
  },
});
