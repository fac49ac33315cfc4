/**
 * A rule is said twice: in CEL for the API server and in TypeScript for the command line and the browser. Both live in one
 * value so that they are read together; the table tests hold both to the same verdict.
 */
import type * as z from 'zod';

export interface Rule<T> {
  readonly cel: string;
  readonly holds: (value: T) => boolean;
  /** Shown by `kubectl apply`: what is wrong and what would be right. */
  readonly message: string;
  /** Not FieldValueDuplicate, for which the API server drops the message. */
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired';
  /** Relative to the schema that carries the rule, as in `.range.last`. */
  readonly fieldPath?: string;
}

/** Rules of transition compare with the stored object, which only the API server has. */
export const onlyTheServerKnows = (): boolean => true;

/** A rule as the CRD carries it. */
function statement<T>({ cel, message, reason, fieldPath }: Rule<T>): Record<string, string> {
  const stated: Record<string, string> = { rule: cel, message };
  if (reason !== undefined) stated['reason'] = reason;
  if (fieldPath !== undefined) stated['fieldPath'] = fieldPath;
  return stated;
}

const pathOf = (fieldPath = ''): string[] => fieldPath.split('.').filter((part) => part !== '');

export function ruled<S extends z.ZodType>(schema: S, ...rules: readonly Rule<z.output<S>>[]): S {
  const refined = rules.reduce<S>(
    (inner, { holds, message, fieldPath }) => inner.refine(holds, { message, path: pathOf(fieldPath) }),
    schema,
  );
  const earlier = schema.meta()?.['x-kubernetes-validations'];
  return refined.meta({
    'x-kubernetes-validations': [...(Array.isArray(earlier) ? earlier : []), ...rules.map(statement)],
  });
}
