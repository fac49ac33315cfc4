import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { workspaceKind } from '@podloom/api';
import { expect, it } from 'vitest';
import { workspaceObjects } from './index.ts';

it('prints what the README says', () => {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');
  const printed = /```text\n([\s\S]*?)```/.exec(readme)?.[1];
  const tea = workspaceKind.parse({
    apiVersion: 'crownlabs.polito.it/v1alpha1',
    kind: 'Workspace',
    metadata: { name: 'tea' },
    spec: { prettyName: 'Tea', quota: { cpu: 8, memory: '16Gi', instances: 4 } },
  });
  const lines = workspaceObjects(tea, {}).map(({ kind, metadata }) =>
    [kind, metadata.namespace ?? '-', metadata.name].join(' '),
  );
  expect(`${lines.join('\n')}\n`).toBe(printed);
});
