import { InvalidInput, type KubeObject, kinds, podConfigKind, podNetworkConfigKind } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { composePod } from '../compose/pod.ts';
import { settleNamespace } from '../compose/settle.ts';
import { interfaceKey, sourceOfKey } from './key.ts';
import { choiceOf, namedBy, sourceTypes } from './registry.ts';
import { refOf, sourceOf } from './attachment.ts';
import type { PodIdentity, SourceObject, SourceType } from './source.ts';

const pod: PodIdentity = {
  namespace: 'ns',
  name: 'p',
  uid: 'u',
  nodeName: 'n1',
  labels: { podconfig: 'a', podNetworkConfig: 'b' },
};
const object = (kind: { apiVersion: string; kind: string }, name: string, namespace = 'ns', spec: object = {}) => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  metadata: { name, namespace },
  spec,
});

describe('the registry', () => {
  it('has a schema for each of its kinds, and reports to those that have a status', () => {
    for (const type of sourceTypes) {
      const { kind } = type;
      const declared = kinds.find((one) => one.kind === kind.kind);
      expect(declared?.resource).toBe(kind.resource);
      expect(type.report !== undefined).toBe(declared?.status !== undefined);
    }
    const finalizers = sourceTypes.flatMap(({ finalizer }) => finalizer ?? []);
    expect(new Set(finalizers).size).toBe(finalizers.length);
  });

  it('finds what a pod names, and chooses nothing of that name in another namespace', () => {
    expect(namedBy(pod).refs.map(({ kind, namespace, name }) => [kind, namespace, name])).toEqual([
      ['PodConfig', 'ns', 'a'],
      ['PodNetworkConfig', 'ns', 'b'],
    ]);
    const isChosen = choiceOf(pod);
    expect(isChosen(object(podConfigKind, 'a'))).toBe(true);
    expect(isChosen(object(podConfigKind, 'b'))).toBe(false);
    expect(isChosen(object(podConfigKind, 'a', 'other'))).toBe(false);
    expect(isChosen(object(podNetworkConfigKind, 'b'))).toBe(true);
  });
});

describe('the key of an interface', () => {
  it.each([['ns'], ['other']])('leads back to its object in namespace %s', (namespace) => {
    const ref = { apiVersion: 'v1', kind: 'Plug', namespace, name: 'a.b' };
    const { apiVersion: _, ...place } = ref;
    expect(sourceOfKey(interfaceKey(ref, 'name:net1', 'ns'), 'ns')).toEqual(place);
  });
});

/** Asks for a link for each object that the annotation names: `name` or `namespace/name`, separated by commas. */
const plugs: SourceType = {
  kind: { group: 'test', apiVersion: 'test/v1', kind: 'Plug', plural: 'plugs', resource: podConfigKind.resource },
  annotations: ['plugs'],
  namedBy: ({ namespace, annotations: { plugs: text } = {} }) =>
    (text ?? '').split(',').flatMap((part) => {
      if (part === '') return [];
      const [name = '', where = namespace, ...more] = part.split('/').toReversed();
      if (more.length > 0) throw new InvalidInput('PLUGS', `plugs: "${part}" has more than one slash`);
      return [{ namespace: where, name }];
    }),
  requests: () => ({}),
  requestsIn(plug, { namespace }) {
    const source = sourceOf(plug);
    const name = plug.metadata.name ?? '';
    const key = interfaceKey(source.ref, name, namespace);
    return {
      links: [{ source, key, name, link: { type: 'macvlan' }, cidrs: [], exclude: [], addresses: [], routes: [] }],
    };
  },
  report: () => ({}),
};

describe("a source that is the pod's own annotation", () => {
  const types = [...sourceTypes, plugs];
  const [near, far] = [object({ apiVersion: 'test/v1', kind: 'Plug' }, 'near'), object(plugs.kind, 'far', 'other')];
  const compose = (text: string | undefined, objects: readonly SourceObject[]) => {
    const annotations = text === undefined ? {} : { plugs: text };
    const settled = settleNamespace('ns', [], { reserved: [] });
    const find = ({ namespace, name }: { namespace: string; name: string }): KubeObject | undefined =>
      objects.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
    return composePod({ ...pod, annotations }, settled, { find: find as never, types });
  };

  it('gives the pod what the objects that it names carry, of whatever namespace', () => {
    const { interfaces, problems } = compose('near,other/far', [near, far]);
    expect(problems).toEqual([]);
    expect(interfaces.map((one) => [one.interface.key, one.interface.source])).toEqual([
      ['Plug/other:far/far', refOf(far)],
      ['Plug/near/near', refOf(near)],
    ]);
    expect(compose(undefined, [near, far]).interfaces).toEqual([]);
  });

  it('says what is not there, and gives the rest', () => {
    const { interfaces, problems } = compose('near,missing', [near]);
    expect(interfaces).toHaveLength(1);
    expect(problems).toMatchObject([{ ref: { kind: 'Plug', namespace: 'ns', name: 'missing' }, reason: 'NotFound' }]);
  });

  it('says on the pod what cannot be read', () => {
    const { problems, unread } = compose('a/b/c', []);
    expect(unread).toEqual(['Plug']);
    expect(problems).toMatchObject([
      { ref: { kind: 'Pod', name: 'p' }, reason: 'InvalidAnnotation', message: expect.stringContaining('"a/b/c"') },
    ]);
  });
});
