/** The reference page of a kind. Headings and lists, no tables: a description may be long, and every field can be linked to. */
import { objectSchema } from './crd.ts';
import type { Kind } from './kind.ts';
import { nodesOf, type StructuralSchema } from './structural.ts';

/** What a schema says would be read as HTML where it has angle brackets. */
const plain = (text: string): string => text.replaceAll('<', '\\<');

function typeOf(schema: StructuralSchema): string {
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object') {
    return `map of ${typeOf(schema.additionalProperties)}`;
  }
  return schema.format === 'date-time' ? 'time' : (schema.type ?? 'any');
}

const limits = {
  minimum: 'at least',
  maximum: 'at most',
  minItems: 'at least this many:',
  maxItems: 'at most this many:',
  maxLength: 'at most this long:',
} as const;

function factsOf(schema: StructuralSchema, required: boolean): string {
  const facts = [typeOf(schema), required ? 'required' : 'optional'];
  if (schema.default !== undefined) facts.push(`default \`${JSON.stringify(schema.default)}\``);
  if (schema.enum !== undefined) facts.push(`one of ${schema.enum.map((value) => `\`${String(value)}\``).join(' ')}`);
  for (const [keyword, words] of Object.entries(limits)) {
    if (typeof schema[keyword] === 'number') facts.push(`${words} ${schema[keyword]}`);
  }
  if (schema.pattern !== undefined) facts.push(`matches \`${schema.pattern}\``);
  return facts.join(', ');
}

function rulesOf(schema: StructuralSchema): readonly string[] {
  const rules = schema['x-kubernetes-validations'];
  if (!Array.isArray(rules)) return [];
  return rules.map(({ message, fieldPath }: { message: string; fieldPath?: string }) =>
    plain(fieldPath === undefined ? `- ${message}` : `- \`${fieldPath.slice(1)}\`: ${message}`),
  );
}

function fieldSection(path: string, schema: StructuralSchema, required: boolean): readonly string[] {
  const keys = schema['x-kubernetes-list-map-keys'];
  const rules = [
    ...rulesOf(schema),
    ...(Array.isArray(keys) ? [`- items are told apart by ${keys.map((key) => `\`${key}\``).join(' and ')}`] : []),
    ...(schema.items === undefined || schema.items.type === 'object' ? [] : rulesOf(schema.items)),
  ];
  return [
    `### \`${path}\``,
    '',
    factsOf(schema, required),
    '',
    plain(schema.description ?? ''),
    '',
    ...(rules.length > 0 ? [...rules, ''] : []),
  ];
}

export function referencePage(kind: Kind): string {
  const root = objectSchema(kind);
  const nodes = (['spec', 'status'] as const).flatMap((part) => {
    const schema = root.properties?.[part];
    return schema === undefined ? [] : nodesOf(schema, part).toArray();
  });
  const byPath = new Map(nodes);
  const isRequired = (path: string): boolean => {
    const parent = path.slice(0, path.lastIndexOf('.'));
    const holder = path.includes('.') ? byPath.get(parent) : root;
    return holder?.required?.includes(path.slice(path.lastIndexOf('.') + 1)) ?? false;
  };
  // Items and map values are told with the field that holds them, unless they are objects with rules of their own.
  const shown = nodes.filter(
    ([path, schema]) => !/(?:\[\]|\.\*)$/.test(path) || rulesOf(schema).length * Number(schema.type === 'object') > 0,
  );
  return [
    `# ${kind.kind}`,
    '',
    plain(kind.description),
    '',
    `- API version: \`${kind.apiVersion}\``,
    `- Resource: \`${kind.plural}\`${kind.shortNames ? `, short \`${kind.shortNames.join('`, `')}\`` : ''}`,
    `- Scope: ${kind.scope === 'Namespaced' ? 'namespaced' : 'the whole cluster'}`,
    `- \`kubectl get\` shows: ${kind.printerColumns.map(({ name }) => name).join(', ')}`,
    ...(kind.selectableFields
      ? [`- Field selectors: ${kind.selectableFields.map((path) => `\`${path.slice(1)}\``).join(', ')}`]
      : []),
    '',
    '## Fields',
    '',
    ...shown.flatMap(([path, schema]) => fieldSection(path, schema, isRequired(path))),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n');
}

export function referenceIndex(kinds: readonly Kind[], fileOf: (kind: Kind) => string): string {
  return [
    '# API reference',
    '',
    'Generated from the schemas in `packages/api`. The same text is behind `kubectl explain`.',
    '',
    ...kinds.map((kind) => `- [${kind.kind}](${fileOf(kind)}) (\`${kind.apiVersion}\`): ${plain(kind.description)}`),
    '',
  ].join('\n');
}
