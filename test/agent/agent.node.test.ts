/** The whole agent against a real API server and the real kernel: what is declared is so, whatever happens in between. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type World, linkNames, makeWorld, podInterface } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await makeWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

it('attaches a pod and says so', async () => {
  world.startAgent();
  const pid = world.runtime.start('first');
  await world.declare('first', { interfaces: [podInterface(2)] });
  const { status } = await world.settled('first');
  expect(status).toMatchObject({
    podPid: pid,
    networks: `pc0${pid}`,
    interfaces: [
      {
        name: `pc0${pid}`,
        hostName: `hpc0${pid}`,
        addresses: ['192.168.100.2/24', 'fd00:100::2/64'],
        bridgeDevice: 'pcbr0',
        state: 'Attached',
      },
    ],
  });
  expect(linkNames(world.runtime.netns('first'))).toContain(`pc0${pid}`);
});
