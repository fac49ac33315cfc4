/**
 * A kind, said once. Type, CRD, defaults, validation, client descriptor and reference page are all made from this value, so a
 * field cannot exist in one and be missing in another.
 */
import * as z from 'zod';
import { InvalidInput } from './errors.ts';
import type { KubeObject, Resource } from './meta.ts';

export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly description: string;
  /** Shown only by `-o wide`. */
  readonly wide?: true;
}

export interface NameLimits {
  readonly maxLength: number;
  /** In the syntax that RE2 and JavaScript share. */
  readonly pattern?: string;
  readonly description: string;
}

export interface KindDeclaration<
  Spec extends z.ZodType,
  Status extends z.ZodType | undefined,
  SpecRequired extends boolean,
> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames?: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  readonly description: string;
  readonly spec: Spec;
  /** Absent where a standard has no status subresource. */
  readonly status: Status;
  readonly specRequired: SpecRequired;
  readonly printerColumns: readonly PrinterColumn[];
  readonly selectableFields?: readonly string[];
  /** What names of its objects must be beyond what Kubernetes wants, where something else is called by them. */
  readonly name?: NameLimits;
  /** The group is another project's, whose installation may be there first. */
  readonly foreign?: true;
}

type StatusOf<Status> = Status extends z.ZodType ? z.output<Status> : never;

type KindObject<Spec extends z.ZodType, Status, SpecRequired> = KubeObject<z.output<Spec>, StatusOf<Status>> &
  (SpecRequired extends true ? { readonly spec: z.output<Spec> } : unknown);

export interface Kind<
  Spec extends z.ZodType = z.ZodType,
  Status extends z.ZodType | undefined = z.ZodType | undefined,
  SpecRequired extends boolean = boolean,
> extends KindDeclaration<Spec, Status, SpecRequired> {
  readonly apiVersion: string;
  readonly resource: Resource<KindObject<Spec, Status, SpecRequired>>;
  /** The object with its defaults filled in as the API server would. Throws InvalidInput naming every bad field. */
  readonly parse: (object: unknown) => KindObject<Spec, Status, SpecRequired>;
}

/** The object as the API server returns it, defaults filled in. */
export type ObjectOf<K extends { readonly resource: Resource }> = NonNullable<K['resource']['__type']>;

export function defineKind<Spec extends z.ZodType, Status extends z.ZodType | undefined, SpecRequired extends boolean>(
  declaration: KindDeclaration<Spec, Status, SpecRequired>,
): Kind<Spec, Status, SpecRequired> {
  const { group, version, kind, plural, scope, spec, status, specRequired } = declaration;
  const apiVersion = `${group}/${version}`;
  const schema = z.looseObject({
    apiVersion: z.literal(apiVersion),
    kind: z.literal(kind),
    metadata: z.looseObject({ name: nameWithin(declaration.name).optional() }),
    spec: specRequired ? spec : spec.optional(),
    ...(status === undefined ? {} : { status: status.optional() }),
  });
  return {
    ...declaration,
    apiVersion,
    resource: { group, version, plural, kind, namespaced: scope === 'Namespaced' },
    parse: (object) => {
      const result = schema.safeParse(object);
      if (result.success) return result.data as unknown as KindObject<Spec, Status, SpecRequired>;
      const problems = result.error.issues.map((issue) => `${issue.path.join('.') || 'object'}: ${issue.message}`);
      throw new InvalidInput('OBJECT', `${kind} is not valid: ${problems.join('; ')}`);
    },
  };
}

function nameWithin({ maxLength, pattern }: Partial<NameLimits> = {}): z.ZodString {
  const name = z.string().max(maxLength ?? 253);
  return pattern === undefined ? name : name.regex(new RegExp(pattern));
}
