import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { nodesOf, structuralSchema } from './structural.ts';

describe('structuralSchema', () => {
  it('keeps types, bounds, patterns, defaults and descriptions', () => {
    const schema = z.object({
      name: z.string().min(1).max(15).regex(/^a/).describe('A name.'),
      mtu: z.int().min(68).max(65535).default(1500).describe('An MTU.'),
    });
    expect(structuralSchema(schema)).toEqual({
      type: 'object',
      required: ['name'],
      properties: {
        name: { description: 'A name.', type: 'string', minLength: 1, maxLength: 15, pattern: '^a' },
        mtu: { description: 'An MTU.', type: 'integer', default: 1500, minimum: 68, maximum: 65535 },
      },
    });
  });

  it.each([
    ['the bounds of exact integers', z.int(), { type: 'integer' }],
    ['the pattern of a time', z.iso.datetime(), { type: 'string', format: 'date-time' }],
    ['the ban on unknown fields', z.strictObject({}), { type: 'object', properties: {} }],
    [
      'the alternatives of a number or text',
      z.union([z.int(), z.string()]).meta({ 'x-kubernetes-int-or-string': true }),
      { 'x-kubernetes-int-or-string': true },
    ],
  ])('leaves out %s', (_, schema, expected) => {
    expect(structuralSchema(schema)).toEqual(expected);
  });

  it('keeps what Kubernetes adds, through optional and describe', () => {
    const list = z.array(z.string()).meta({ 'x-kubernetes-list-type': 'set' }).optional().describe('A set.');
    expect(structuralSchema(z.object({ list })).properties?.['list']).toEqual({
      description: 'A set.',
      type: 'array',
      'x-kubernetes-list-type': 'set',
      items: { type: 'string' },
    });
  });

  it('refuses what has no structural form, naming the field', () => {
    const schema = z.object({ either: z.union([z.string(), z.boolean()]) });
    expect(() => structuralSchema(schema)).toThrow('schema.either has no structural form: anyOf');
  });

  it('walks every node by its path', () => {
    const schema = structuralSchema(
      z.object({ list: z.array(z.object({ name: z.string() })), map: z.record(z.string(), z.int()) }),
    );
    expect([...nodesOf(schema, 'spec')].map(([path]) => path)).toEqual([
      'spec',
      'spec.list',
      'spec.list[]',
      'spec.list[].name',
      'spec.map',
      'spec.map.*',
    ]);
  });
});
