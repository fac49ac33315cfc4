import { podConfigKind } from '@podloom/api';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';

const file = new URL(`readme-example-${process.pid}.ts`, import.meta.url);

afterAll(() => rmSync(file, { force: true }));

it('the example of the README runs', async () => {
  const [, code = ''] =
    /```ts\n([\s\S]*?)```/.exec(readFileSync(new URL('../README.md', import.meta.url), 'utf8')) ?? [];
  writeFileSync(file, code.replace("'@podloom/network'", "'./index.ts'"));
  const { show } = (await import(file.href)) as { show: (podConfig: unknown, pid: number) => string };
  const podConfig = podConfigKind.parse({
    apiVersion: podConfigKind.apiVersion,
    kind: 'PodConfig',
    metadata: { name: 'a', namespace: 'cnf-test' },
    spec: {
      networkAttachments: [{ name: 'pc0', linkType: 'veth', master: 'pcbr0', parent: 'pc0', cidr: '192.168.100.0/24' }],
    },
  });
  expect(show(podConfig, 2841804)).toContain('+ ip link add pcbr0');
});
