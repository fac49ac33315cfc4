/** `podloom plan POD` where nobody has done anything yet: there is neither operator nor agent. */
import { expect, inject, it } from 'vitest';
import { commandsFor } from '../chart/installed.ts';
import { world } from '../operator/world.ts';

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
        expect.objectContaining({ do: 'createBridge', name: 'pcbr0' }),
        expect.objectContaining({ do: 'addAddress', in: 'pod', address: '10.45.0.2/24' }),
      ]) as unknown,
    },
  ]);
});
