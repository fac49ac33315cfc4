/** The CustomResourceDefinition of a kind, as plain data. */
import type { Kind, NameLimits } from './kind.ts';
import { fieldsBeside, structuralSchema, type StructuralSchema } from './structural.ts';

export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'CustomResourceDefinition';
  readonly metadata: {
    readonly name: string;
    readonly annotations: Readonly<Record<string, string>>;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The schema of the whole object, root included. */
export function objectSchema(kind: Kind): StructuralSchema {
  return {
    description: kind.description,
    type: 'object',
    ...(kind.specRequired ? { required: ['spec'] } : {}),
    properties: {
      apiVersion: { description: `Always ${kind.apiVersion}.`, type: 'string' },
      kind: { description: `Always ${kind.kind}.`, type: 'string' },
      metadata: {
        // No description: Kubernetes has its own and allows none here.
        type: 'object',
        ...(kind.name === undefined ? {} : { properties: { name: nameSchema(kind.name) } }),
      },
      spec: structuralSchema(kind.spec),
      ...(kind.status === undefined ? {} : { status: structuralSchema(kind.status) }),
    },
  };
}

const nameSchema = ({ description, ...limits }: NameLimits): StructuralSchema => ({
  description,
  type: 'string',
  ...limits,
});

/** Paths of what the object has and its kind does not know: the API server would drop it, kubectl has it refused. */
export function unknownFields(
  kind: Kind,
  { metadata: _kubernetesOwn, ...object }: object & { metadata?: unknown },
): string[] {
  return [...fieldsBeside(objectSchema(kind), object, '')];
}

export function customResourceDefinition(kind: Kind): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${kind.plural}.${kind.group}`,
      // A CRD that goes takes every object of every tenant with it. Uninstalling must not be able to do that by the way.
      annotations: { 'helm.sh/resource-policy': 'keep' },
      labels: { 'app.kubernetes.io/part-of': 'podloom' },
    },
    spec: {
      group: kind.group,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.singular,
        ...(kind.shortNames === undefined ? {} : { shortNames: kind.shortNames }),
        categories: ['podloom'],
      },
      scope: kind.scope,
      versions: [
        {
          name: kind.version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: objectSchema(kind) },
          ...(kind.status === undefined ? {} : { subresources: { status: {} } }),
          ...(kind.selectableFields === undefined
            ? {}
            : { selectableFields: kind.selectableFields.map((jsonPath) => ({ jsonPath })) }),
          additionalPrinterColumns: kind.printerColumns.map(({ wide, ...column }) =>
            wide ? Object.assign({ priority: 1 }, column) : column,
          ),
        },
      ],
    },
  };
}
