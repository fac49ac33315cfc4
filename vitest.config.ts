/**
 * The test tiers of DESIGN §6 as vitest projects. A file's name says which tier it needs: `plan.test.ts` is pure,
 * `link.node.test.ts` needs root and namespaces, `cache.api.test.ts` a real API server, and so on.
 */
import { defineConfig } from 'vitest/config';

const special = ['node', 'api', 'cluster', 'kernel', 'chaos'] as const;
const roots = ['packages/*/src', 'test', 'tools', 'deploy', 'bench'];
const files = (suffix: string) => roots.map((root) => `${root}/**/*${suffix}.test.ts`);

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: files(''),
          exclude: special.flatMap((tier) => files(`.${tier}`)).concat('**/node_modules/**'),
          pool: 'forks',
          isolate: false,
          // A limit for what hangs, not a measure: a loaded machine takes its time.
          testTimeout: 60_000,
        },
      },
      { test: { name: 'node', include: files('.node'), pool: 'forks', testTimeout: 120_000, hookTimeout: 180_000 } },
      {
        test: {
          name: 'api',
          include: files('.api'),
          pool: 'forks',
          globalSetup: ['test/setup/api-server.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'cluster',
          include: files('.cluster'),
          pool: 'forks',
          fileParallelism: false,
          globalSetup: ['test/setup/cluster.ts'],
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
