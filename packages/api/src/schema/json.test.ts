import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject, jsonExpressions, maxDepth } from './json.ts';

/** What the API server does, with the same expressions: they use only what RE2 and JavaScript read alike. */
const neighbours = new RegExp(jsonExpressions.neighbours);
const balance = new RegExp(jsonExpressions.balance);
const partners = new RegExp(jsonExpressions.partners);
const accepted = (text: string): boolean => neighbours.test(text) && balance.test(text) && !partners.test(text);

const object = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }), {
  maxKeys: 4,
});
const text = fc
  .tuple(object, fc.constantFrom(0, 1, 2, '\t'))
  .map(([value, indent]) => JSON.stringify(value, null, indent));

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

describe('the expressions that stand for a JSON parser', () => {
  it('accept every JSON object', () => {
    fc.assert(
      fc.property(text, (json) => {
        expect(accepted(json)).toBe(true);
      }),
    );
  });

  it('agree with JSON.parse on objects that lost, gained or changed a character', () => {
    const change = fc.tuple(
      fc.nat(),
      fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', '0', '-', 'n', ' ', ''),
      fc.boolean(),
    );
    fc.assert(
      fc.property(text, fc.array(change, { minLength: 1, maxLength: 3 }), (json, changes) => {
        const broken = changes.reduce((now, [at, insert, replace]) => {
          const i = at % (now.length + 1);
          return now.slice(0, i) + insert + now.slice(replace ? i + 1 : i);
        }, json);
        expect({ broken, accepted: accepted(broken) }).toEqual({ broken, accepted: isJsonObject(broken) });
      }),
      { numRuns: 2000 },
    );
  });

  it('agree with JSON.parse on any sequence of tokens', () => {
    const token = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"{"',
      '"]"',
      '1',
      '-',
      'true',
      ' ',
      '"a":',
      '{}',
      '[]',
      '"\\""',
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 12 }), (tokens) => {
        const broken = `{${tokens.join('')}}`;
        expect({ broken, accepted: accepted(broken) }).toEqual({ broken, accepted: isJsonObject(broken) });
      }),
      { numRuns: 5000 },
    );
  });

  it('accept the deepest nesting that is promised and refuse one more', () => {
    expect([accepted(nested(maxDepth)), accepted(nested(maxDepth + 1))]).toEqual([true, false]);
  });
});
