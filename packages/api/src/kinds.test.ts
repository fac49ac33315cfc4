import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { customResourceDefinition, objectSchema } from './crd.ts';
import type { Kind } from './kind.ts';
import { kindOf, kinds } from './kinds.ts';
import { nodesOf, type StructuralSchema } from './structural.ts';

const each = kinds.map((kind) => [kind.kind, kind] as const);

/** Values that fit, by the name of the field: random text would almost never be an address. */
const fitting: Readonly<Record<string, readonly string[]>> = {
  cidr: ['10.0.0.0/8', 'fd00::/64'],
  cidrs: ['10.0.0.0/24'],
  to: ['0.0.0.0/0', '10.9.0.0/16'],
  via: ['10.0.0.1'],
  gateway: ['First', 'None', '10.0.0.1'],
  exclude: ['10.0.0.0/30'],
  addresses: ['10.0.0.9', '10.0.0.9/24'],
  gateways: ['10.0.0.1/24'],
  address: ['10.0.0.9'],
  first: ['10.0.0.4'],
  last: ['10.0.0.9'],
  hardwareAddr: ['02:00:00:00:00:01'],
  macAddress: ['02:00:00:00:00:01'],
  config: ['{"type":"bridge"}'],
  vlanIds: ['7', '100-200'],
  grantedSysctls: ['net.ipv4.conf.proxy_arp'],
  primarySysctls: ['net.ipv4.conf.proxy_arp'],
  lastTransitionTime: ['2026-01-01T00:00:00Z'],
  releasedAt: ['2026-01-01T00:00:00Z'],
  email: ['mary@example.com'],
  publicKeys: ['ssh-ed25519 AAAA mary'],
  lastLogin: ['2026-01-01T00:00:00Z'],
  since: ['2026-01-01T00:00:00Z'],
};

/** Optional fields are mostly left out, because most of what they could say together contradicts something. */
function anyField(schema: StructuralSchema, field: string, required: boolean): fc.Arbitrary<unknown> {
  const value = anyValue(schema, field);
  return required ? value : fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
}

function anyValue(schema: StructuralSchema, field: string): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.type === 'string') return fc.constantFrom(...(fitting[field] ?? ['a', 'b1']));
  if (schema.type === 'integer')
    return fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 9000, 9000) });
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'array') {
    return fc.array(anyValue(schema.items ?? {}, field), { minLength: Number(schema['minItems'] ?? 0), maxLength: 2 });
  }
  if (schema['x-kubernetes-int-or-string'] === true) return fc.constantFrom(1, '500m', '8Gi');
  if (typeof schema.additionalProperties === 'object') {
    return fc.dictionary(fc.constant('net.ipv4.conf.rp_filter'), anyValue(schema.additionalProperties, field));
  }
  const fields = Object.entries(schema.properties ?? {});
  return fc.record(
    Object.fromEntries(
      fields.map(([name, inner]) => [name, anyField(inner, name, schema.required?.includes(name) ?? false)]),
    ),
  );
}

/** As it would travel: without fields that are undefined. */
const wire = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const objectOf = (kind: Kind, spec: unknown) => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  metadata: { name: 'sample' },
  spec,
});

function parsed(kind: Kind, object: unknown): unknown {
  try {
    return kind.parse(object);
  } catch {
    return undefined;
  }
}

describe.each(each)('%s', (_, kind) => {
  it('documents every field', () => {
    const root = objectSchema(kind);
    const parts = [root.properties?.['spec'], root.properties?.['status']].filter((part) => part !== undefined);
    const nodes = parts.flatMap((part, i) => nodesOf(part, i === 0 ? 'spec' : 'status').toArray());
    const bare = nodes.filter(([, { description = '' }]) => !/^[A-Z].*\.$/.test(description));
    expect(bare.map(([path]) => path)).toEqual([]);
    expect(kind.description).toMatch(/^[A-Z].*\.$/);
  });

  it('bounds every text and list that a rule could read', () => {
    const spec = objectSchema(kind).properties?.['spec'] ?? {};
    const unbounded = [...nodesOf(spec, 'spec')].filter(
      ([, node]) =>
        (node.type === 'array' && node['maxItems'] === undefined) ||
        (node.type === 'string' &&
          node.enum === undefined &&
          node['maxLength'] === undefined &&
          node.format === undefined),
    );
    expect(unbounded.map(([path]) => path)).toEqual([]);
  });

  it('changes nothing when defaults are filled in a second time', () => {
    let accepted = 0;
    fc.assert(
      fc.property(anyValue(objectSchema(kind).properties?.['spec'] ?? {}, 'spec'), (spec) => {
        const once = parsed(kind, wire(objectOf(kind, spec)));
        if (once === undefined) return;
        accepted += 1;
        expect(kind.parse(once)).toEqual(once);
      }),
      { numRuns: 300 },
    );
    expect(accepted).toBeGreaterThan(10);
  });

  it('is found by what a manifest says, and names its CRD after itself', () => {
    expect(kindOf(objectOf(kind, {}))).toBe(kind);
    expect(customResourceDefinition(kind).metadata.name).toBe(`${kind.plural}.${kind.group}`);
    expect(kind.resource).toEqual({
      group: kind.group,
      version: kind.version,
      plural: kind.plural,
      kind: kind.kind,
      namespaced: kind.scope === 'Namespaced',
    });
  });
});

it('parse names every bad field with its reason', () => {
  const kind = kindOf({ apiVersion: 'podconfig.opdev.io/v1alpha1', kind: 'PodConfig' });
  const bad = { networkAttachments: [{ name: 'a/b', mtu: 1 }] };
  expect(() => kind?.parse({ ...objectOf(kind, bad) })).toThrow(
    /spec\.networkAttachments\.0\.name: must be a link name.*spec\.networkAttachments\.0\.mtu: /,
  );
});

it('nothing behind the door needs Node or YAML', () => {
  const seen = new Set<string>();
  const outside = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(/^(?:import|export|\}) .*?from '([^']+)';$/gm)) {
      if (from.startsWith('.')) visit(join(dirname(file), from));
      else outside.add(from);
    }
  };
  visit(join(import.meta.dirname, 'index.ts'));
  expect([...outside]).toEqual(['zod']);
});
