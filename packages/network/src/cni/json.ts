/** JSON that people wrote, read at a cost that is bounded before it is parsed: what is too long or too deep is refused by one look at its letters. */
import { InvalidInput } from '@podloom/api';

export type JsonObject = Readonly<Record<string, unknown>>;

const deepest = 16;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `what` begins the message of the InvalidInput that is thrown. */
export function readJson(text: string, what: string, most: number): unknown {
  if (text.length > most) throw new InvalidInput('JSON', `${what} has more than ${most} characters`);
  if (isTooDeep(text)) throw new InvalidInput('JSON', `${what} is nested deeper than ${deepest}`);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) throw new InvalidInput('JSON', `${what} is not JSON: ${error.message}`);
    throw error;
  }
}

/** Brackets in strings do not count. */
function isTooDeep(text: string): boolean {
  let [depth, isInString] = [0, false];
  for (let i = 0; i < text.length; i += 1) {
    const letter = text[i];
    if (isInString && letter === '\\') i += 1;
    else if (letter === '"') isInString = !isInString;
    else if (!isInString && (letter === '{' || letter === '[')) depth += 1;
    else if (!isInString && (letter === '}' || letter === ']')) depth -= 1;
    if (depth > deepest) return true;
  }
  return false;
}

const asBytes = new TextEncoder();
export const bytesOf = (text: string): number => asBytes.encode(text).length;
