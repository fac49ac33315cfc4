/**
 * Text that must be a JSON object (a CNI configuration), checked by the API server. CEL has no JSON parser, so the grammar is
 * said in three regular expressions that are exact down to a nesting of `maxDepth`, and refuse what is nested deeper:
 * neighbours (which token may follow which), balance (every bracket has a partner), partners (a brace closes with a brace, and
 * whether a comma is followed by a key depends on what it stands in). `B` below is "anything balanced", which makes the
 * partner of a bracket findable by an expression that grows with the depth only linearly.
 */
import * as z from 'zod';
import { ruled } from './rule.ts';

export const maxDepth = 16;

const ws = '[ \\t\\n\\r]*';
const string = String.raw`"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"`;
/** A string where it is already known that all strings are well formed. */
const skip = String.raw`"(?:[^"\\]|\\.)*"`;
const scalar = String.raw`(?:${string}|-?(?:0|[1-9][0-9]*)(?:[.][0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null)`;
const key = `${string}${ws}:${ws}`;
const opening = String.raw`(?:\{${ws}${key}|\[${ws})*`;
const leaf = String.raw`(?:${scalar}|\{${ws}\}|\[${ws}\])`;
const closing = String.raw`(?:${ws}[\}\]])*`;
const item = `${opening}${leaf}${closing}`;

function balanced(depth: number): string {
  const inner = depth === 0 ? '' : String.raw`|[\{\[]${balanced(depth - 1)}[\}\]]`;
  return String.raw`(?:[^"\{\}\[\]]|${skip}${inner})*`;
}

const B = balanced(maxDepth - 1);

export const jsonExpressions = {
  /** Must match: starts as an object, ends as one, and every token may follow the one before. */
  neighbours: String.raw`^${ws}\{${ws}(?:\}|${key}${item}(?:${ws},${ws}(?:${key})?${item})*)${ws}$`,
  /** Must match: one bracketed whole. */
  balance: String.raw`^${ws}\{${B}\}${ws}$`,
  /** Must not match: an object that closes with "]" or has a comma without a key after it; an array that closes with "}" or has a key. */
  partners: String.raw`^(?:[^"]|${skip})*(?:\{${B}(?:\]|,${ws}(?:[^" \t\n\r]|${skip}${ws}[^: \t\n\r]))|\[${B}(?:\}|${skip}${ws}:))`,
} as const;

export function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

const raw = (expression: string): string => `r'${expression}'`;

export const jsonObjectText = (maxLength: number, description: string) =>
  ruled(z.string().max(maxLength), {
    cel:
      `self.matches(${raw(jsonExpressions.neighbours)}) && self.matches(${raw(jsonExpressions.balance)})` +
      ` && !self.matches(${raw(jsonExpressions.partners)})`,
    holds: isJsonObject,
    message: `must be the text of a JSON object, nested at most ${maxDepth} deep`,
  }).describe(description);
