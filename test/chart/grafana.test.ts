/** A dashboard that asks for a metric which nobody has shows an empty panel, and nobody notices. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

describe('the Grafana dashboard', () => {
  const { panels } = JSON.parse(readFileSync(join(root, 'deploy/chart/files/grafana.json'), 'utf8')) as Dashboard;
  const sources = globSync('packages/*/src/**/*.ts', { cwd: root })
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(root, file), 'utf8'))
    .join('\n');

  it.each(panels.map((panel) => [panel.title, panel] as const))(
    'asks in "%s" for what our processes tell',
    (_, panel) => {
      const asked = panel.targets.flatMap(({ expr }) => expr.match(/\b(?:podloom|process)_[a-z_]+/g) ?? []);
      expect(asked.length).toBeGreaterThan(0);
      for (const name of asked) expect(sources).toContain(`'${name.replace(/_bucket$/, '')}'`);
    },
  );
});
