/** `podloom plan` where nobody has done anything yet: there is neither operator nor agent. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { commandsFor } from '../chart/installed.ts';
import { world } from '../network-operator/world.ts';
import { eventually } from '../setup/eventually.ts';
import { tenantWhoLists } from './tenant.ts';

it('`podloom plan POD` says what is still to be done for that pod, in words and as JSON', async () => {
  const w = await world();
  const { podloom } = await commandsFor(inject('kubeconfig'));
  const plan = (...more: string[]) => podloom(['plan', 'a', '-n', w.namespace, ...more]);
  for (const name of ['a', 'b']) await w.pod(name, { podconfig: 'c' });
  expect((await plan()).stdout).toBe(`pod a on node ${w.node}\nNothing to do: all is as declared.\n`);

  await w.config('c', [{ name: 'pc0', master: 'pcbr0', cidr: '10.45.0.0/24', mtu: 1400 }]);
  const { code, stdout, stderr } = await plan();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(new RegExp(`^pod a on node ${w.node}\\n@@ `));
  expect(stdout).not.toMatch(/pod b\b/); // a uid may begin with b
  for (const words of ['pcbr0', '10.45.0.1/24', '10.45.0.2/24', '1400']) expect(stdout).toContain(words);

  const shown = JSON.parse((await plan('-o', 'json')).stdout) as unknown;
  expect(shown).toEqual([
    {
      pod: 'a',
      node: w.node,
      conflicts: [],
      problems: [],
      steps: expect.arrayContaining([
        expect.objectContaining({ do: 'createLink', kind: 'bridge', name: 'pcbr0' }),
        expect.objectContaining({ do: 'addAddress', in: 'pod', address: '10.45.0.2/24' }),
      ]) as unknown,
    },
  ]);
});

it('`podloom plan` shows who may change one kind only what that brings, and says what it could not see', async () => {
  const w = await world();
  const commands = await commandsFor(inject('kubeconfig'));
  await w.pod('a', { podNetworkConfig: 'c' });
  const kinds = ['podnetworkconfigs.podnetwork.opdev.io', 'podnetworks.podnetwork.opdev.io', 'pods'];
  const kubeconfig = await tenantWhoLists(kinds, w.namespace, commands);
  const folder = await mkdtemp(join(tmpdir(), 'podloom-plan-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const object = {
    apiVersion: 'podnetwork.opdev.io/v1alpha1',
    kind: 'PodNetworkConfig',
    metadata: { name: 'c' },
    spec: { eth0: { mtu: 1400 } },
  };
  await writeFile(join(folder, 'object.json'), JSON.stringify(object));

  const plan = () =>
    commands.podloom(['plan', '-f', join(folder, 'object.json'), '-n', w.namespace, '--kubeconfig', kubeconfig]);
  await eventually(async () => expect(await plan()).toMatchObject({ code: 0 }));
  const { stdout, stderr } = await plan();
  expect(stdout).toMatch(new RegExp(`^pod a on node ${w.node}\\n[^]*eth0 mtu 1400`));
  const unseen = [...stderr.matchAll(/^not in the picture: ([\w-]+) of namespace \S+, which you may not list$/gm)];
  expect(new Set(unseen.map(([, kind]) => kind))).toEqual(
    new Set([
      'additionalnetworks',
      'bridges',
      'ippools',
      'network-attachment-definitions',
      'networks',
      'podconfigs',
      'primarynetworks',
    ]),
  );
});
