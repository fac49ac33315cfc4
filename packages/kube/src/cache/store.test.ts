/** The store against a plain list of objects, in which everything is found by looking at each. */
import type { KubeObject } from '@podloom/api';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyOf, objectKey, parseObjectKey, store } from './store.ts';
import type { Change, ObjectKey } from './store.ts';

interface Thing extends KubeObject {
  node: string;
}

const thing = (name: string, uid: string, resourceVersion: string, node: string, labels = {}): Thing => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name, namespace: 'ns', uid, resourceVersion, labels },
  node,
});
const indexes = { node: (one: Thing) => [one.node], label: (one: Thing) => Object.values(one.metadata.labels ?? {}) };

const anyThing = fc
  .record({
    name: fc.constantFrom('a', 'b', 'c'),
    uid: fc.constantFrom('1', '2'),
    rv: fc.integer({ min: 1, max: 3 }).map(String),
    node: fc.constantFrom('n1', 'n2'),
    labels: fc.dictionary(fc.constantFrom('x', 'y'), fc.constantFrom('one', 'two')),
  })
  // What the server sends under one uid and resourceVersion is always the same: derive the rest from these.
  .map(({ name, uid, rv, node, labels }) => thing(name, uid, `${rv}-${node}-${JSON.stringify(labels)}`, node, labels));
const anyUpdate = fc.oneof(
  anyThing.map((object) => ({ kind: 'put' as const, object })),
  anyThing.map((object) => ({ kind: 'remove' as const, object })),
  fc.uniqueArray(anyThing, { selector: keyOf }).map((objects) => ({ kind: 'replace' as const, objects })),
);

/** What a subscriber knows that only ever heard of changes. */
function follow(known: Map<ObjectKey, Thing>, changes: readonly Change<Thing>[]): void {
  for (const { key, old, now } of changes) {
    expect(known.get(key)).toBe(old);
    expect(old ?? now).toBeDefined();
    expect(!old || !now || old.metadata.uid === now.metadata.uid).toBe(true);
    if (now) known.set(key, now);
    else known.delete(key);
  }
}

describe('store', () => {
  it('finds what a plain list finds, and its changes tell the whole story', () => {
    fc.assert(
      fc.property(fc.array(anyUpdate, { maxLength: 30 }), (updates) => {
        const real = store<Thing, 'node' | 'label'>(indexes);
        let model: Thing[] = [];
        const known = new Map<ObjectKey, Thing>();
        for (const update of updates) {
          const without = (object: Thing) => model.filter((one) => keyOf(one) !== keyOf(object));
          if (update.kind === 'put') {
            follow(known, real.put(update.object));
            model = [...without(update.object), update.object];
          } else if (update.kind === 'remove') {
            follow(known, real.remove(update.object));
            model = without(update.object);
          } else {
            follow(known, real.replace(update.objects));
            model = update.objects;
          }
          const sorted = (list: Iterable<Thing>) =>
            Array.from(list).toSorted((a, b) => keyOf(a).localeCompare(keyOf(b)));
          expect(sorted(real.list())).toEqual(sorted(model));
          expect(sorted(known.values())).toEqual(sorted(model));
          expect(real.size).toBe(model.length);
          for (const node of ['n1', 'n2', 'nowhere']) {
            expect(sorted(real.by('node', node))).toEqual(sorted(model.filter((one) => one.node === node)));
          }
          for (const value of ['one', 'two']) {
            const labelled = model.filter((one) => Object.values(one.metadata.labels ?? {}).includes(value));
            expect(sorted(real.by('label', value))).toEqual(sorted(labelled));
          }
          for (const one of model) expect(real.getByKey(keyOf(one))).toEqual(one);
        }
      }),
    );
  });

  it('says nothing about an object that a fresh list shows unchanged', () => {
    const things = store<Thing, never>({});
    things.replace([thing('a', '1', '7', 'n1')]);
    expect(things.replace([thing('a', '1', '7', 'n1')])).toEqual([]);
  });

  it('shows a recreated object as gone and come', () => {
    const things = store<Thing, never>({});
    things.put(thing('a', '1', '7', 'n1'));
    const steps = things.replace([thing('a', '2', '9', 'n1')]);
    expect(steps.map(({ old, now }) => [old?.metadata.uid, now?.metadata.uid])).toEqual([
      ['1', undefined],
      [undefined, '2'],
    ]);
  });

  it('refuses that a reader changes what all readers share', () => {
    const things = store<Thing, never>({});
    things.put(thing('a', '1', '7', 'n1', { x: 'one' }));
    const found = things.get('a', 'ns');
    expect(() => {
      Object.assign(found?.metadata.labels ?? {}, { x: 'two' });
    }).toThrow(TypeError);
  });

  it('reads its own keys back', () => {
    expect(parseObjectKey(objectKey('a', 'ns'))).toEqual({ name: 'a', namespace: 'ns' });
    expect(parseObjectKey(objectKey('a'))).toEqual({ name: 'a', namespace: undefined });
  });
});
