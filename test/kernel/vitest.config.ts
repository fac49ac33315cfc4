/**
 * How vitest runs inside the test machine. Emulation makes everything some ten times slower and there is one processor, so files run
 * one after the other in one worker, modules are loaded once and by Node itself, and time limits are wide.
 */
import { defineConfig } from 'vitest/config';
import { only } from './only.ts';

const chosen = only();

export default defineConfig({
  cacheDir: '/tmp/vite',
  test: {
    include: [
      'packages/*/src/**/*.kernel.test.ts',
      ...(chosen ? Object.keys(chosen) : ['packages/netlink/src/**/*.node.test.ts']),
      'test/kernel/**/*.kernel.test.ts',
    ],
    // Counts descriptors over 100,000 requests: the same on any kernel, and many minutes in emulation.
    exclude: ['packages/netlink/src/leaks.node.test.ts'],
    root: process.cwd(),
    setupFiles: ['test/setup/stories.ts', ...(chosen ? ['test/kernel/skip.ts'] : [])],
    pool: 'forks',
    fileParallelism: false,
    isolate: false,
    cache: false,
    fsModuleCache: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    testTimeout: 900_000,
    hookTimeout: 900_000,
    reporters: ['verbose', 'json'],
    outputFile: { json: '/tmp/result.json' },
  },
});
