/** Links of any kind against the real kernel: born in one place over a link of another. */
import { linkGroup, undoOf } from '@podloom/network';
import { expect, it } from 'vitest';
import { observePod } from '../observe/pod.ts';
import { podSpec } from '../testing/specs.ts';
import { makeWorld } from '../testing/world.ts';
import { applyStep } from './step.ts';

it('makes a link of a kind that is named nowhere here, whose settings are observed, and takes it back', () => {
  using world = makeWorld();
  const pod = world.pods[0]!;
  const namespaces = { node: world.node, pod };
  const seen = () => observePod(pod, podSpec('uid-a', [])).links.find(({ name }) => name === 'over0');
  const step = {
    do: 'createLink',
    in: 'pod',
    owner: 'interface k',
    kind: 'vxlan',
    name: 'over0',
    mac: '02:00:00:00:00:aa',
    mtuBytes: 1400,
    group: linkGroup,
    data: { id: 4097, port: 14789, learning: false },
    from: { in: 'node', link: 'cni0' },
  } as const;
  applyStep(step, namespaces);
  expect(seen()).toMatchObject({
    kind: 'vxlan',
    group: linkGroup,
    mac: '02:00:00:00:00:aa',
    mtuBytes: 1400,
    up: false,
    data: { id: 4097, port: 14789, learning: false },
  });
  expect(world.node.link.list().map(({ name }) => name)).not.toContain('over0');
  for (const back of undoOf(step)) applyStep(back, namespaces);
  expect(seen()).toBeUndefined();
});
