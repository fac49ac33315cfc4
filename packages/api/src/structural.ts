/**
 * From zod to the structural schema that a CRD carries. zod's own OpenAPI output is close; this file takes away what
 * Kubernetes forbids or would only make noise, and refuses what has no structural form, so that a mistake shows when the CRDs
 * are generated and not when a cluster refuses them.
 */
import * as z from 'zod';
import { Bug } from './errors.ts';

export interface StructuralSchema {
  type?: string;
  description?: string;
  default?: unknown;
  format?: string;
  enum?: unknown[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, StructuralSchema>;
  required?: string[];
  items?: StructuralSchema;
  additionalProperties?: StructuralSchema | boolean;
  [keyword: string]: unknown;
}

const known = new Set([
  'type',
  'description',
  'default',
  'format',
  'enum',
  'pattern',
  'nullable',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'properties',
  'required',
  'items',
  'additionalProperties',
]);

export function structuralSchema(schema: z.ZodType): StructuralSchema {
  return clean(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }) as StructuralSchema, 'schema');
}

function clean(schema: StructuralSchema, path: string): StructuralSchema {
  const { properties, items, additionalProperties, ...rest } = schema;
  if (Array.isArray(schema['anyOf']) && rest['x-kubernetes-int-or-string'] === true) delete rest['anyOf'];
  // z.int() stays within what JavaScript counts exactly, which is no wish of the field.
  if (rest.minimum === Number.MIN_SAFE_INTEGER) delete rest.minimum;
  if (rest.maximum === Number.MAX_SAFE_INTEGER) delete rest.maximum;
  if (rest.format === 'date-time') delete rest.pattern;

  const foreign = Object.keys(rest).filter((keyword) => !known.has(keyword) && !keyword.startsWith('x-kubernetes-'));
  if (foreign.length > 0) throw new Bug('STRUCTURAL_SCHEMA', `${path} has no structural form: ${foreign.join(', ')}`);

  const { description, type, default: fallback, ...constraints } = rest;
  return {
    ...(description === undefined ? {} : { description }),
    ...(type === undefined ? {} : { type }),
    ...(fallback === undefined ? {} : { default: fallback }),
    ...constraints,
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, inner]) => [name, clean(inner, `${path}.${name}`)]),
          ),
        }),
    ...(items === undefined ? {} : { items: clean(items, `${path}[]`) }),
    ...(properties === undefined && typeof additionalProperties === 'object'
      ? { additionalProperties: clean(additionalProperties, `${path}{}`) }
      : {}),
  };
}

/** Every node of a schema with its path as people write it: spec.networkAttachments[].name. */
export function* nodesOf(schema: StructuralSchema, path: string): Generator<readonly [string, StructuralSchema]> {
  yield [path, schema];
  for (const [name, inner] of Object.entries(schema.properties ?? {})) yield* nodesOf(inner, `${path}.${name}`);
  if (schema.items !== undefined) yield* nodesOf(schema.items, `${path}[]`);
  if (typeof schema.additionalProperties === 'object') yield* nodesOf(schema.additionalProperties, `${path}.*`);
}

/** Paths in a value that its schema has no place for. */
export function* fieldsBeside(schema: StructuralSchema, value: unknown, path: string): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) yield* fieldsBeside(schema.items ?? {}, item, `${path}[${i}]`);
    return;
  }
  if (schema.properties === undefined) return;
  for (const [name, inner] of Object.entries(value)) {
    const place = path === '' ? name : `${path}.${name}`;
    const known = schema.properties[name];
    if (known === undefined) yield place;
    else yield* fieldsBeside(known, inner, place);
  }
}
