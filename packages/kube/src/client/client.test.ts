/** What the compiler promises: a resource decides the type of what a call takes and gives. Nothing here talks to a server. */
import type { KubeObject, Resource } from '@podloom/api';
import { expectTypeOf, it } from 'vitest';
import { type ConfigMap, configMaps, type Pod, pods } from './builtin.ts';
import type { Applied, ApplyOptions, Client, Draft, List, WatchEvent } from './client.ts';

interface Thing extends KubeObject {
  readonly spec: { readonly size: number; readonly colour: string };
}
const getPod = (client: Client) => client.get(pods, 'a');
const listConfigMaps = (client: Client) => client.list(configMaps);
const watchThings = (client: Client, things: Resource<Thing>) => client.watch(things);

it('gives each call the type of its resource', () => {
  expectTypeOf(getPod).returns.resolves.toEqualTypeOf<Pod>();
  expectTypeOf(listConfigMaps).returns.resolves.toEqualTypeOf<List<ConfigMap>>();
  expectTypeOf(watchThings).returns.toEqualTypeOf<AsyncIterable<WatchEvent<Thing>>>();
});

it('wants a whole spec to create, and any part of it to apply', () => {
  type Named<Spec> = { metadata: { name: string }; spec: Spec };
  expectTypeOf<Named<Thing['spec']>>().toExtend<Draft<Thing>>();
  expectTypeOf<Named<{ size: number }>>().not.toExtend<Draft<Thing>>();
  expectTypeOf<Named<{ size: number }>>().toExtend<Applied<Thing>>();
  expectTypeOf<Named<{ size: string }>>().not.toExtend<Applied<Thing>>();
});

it('lets the server name what is created, but not what is applied', () => {
  type Generated = { metadata: { generateName: string }; spec: Thing['spec'] };
  expectTypeOf<Generated>().toExtend<Draft<Thing>>();
  expectTypeOf<Generated>().not.toExtend<Applied<Thing>>();
  expectTypeOf<{ force: true }>().not.toExtend<ApplyOptions>();
});
