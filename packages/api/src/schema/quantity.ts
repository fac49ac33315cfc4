/**
 * Kubernetes quantities: 4, 500m, 8Gi, 1e3. An API field takes a number or a text. The grammar is one regular expression, the same for the API
 * server and here; of what Kubernetes reads it leaves out signs below zero and exponents of more than two digits.
 */
import * as z from 'zod';
import { InvalidInput } from '../errors.ts';
import { ruled } from './rule.ts';

export type Quantity = number | string;

const grammar = '^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,2})?$';
/** The first digit that is not 0 comes before the unit. */
const aboveZero = '^[+]?[0.]*[1-9]';
const longest = 32;

export const isQuantity = (value: Quantity): boolean =>
  String(value).length <= longest && new RegExp(grammar).test(String(value));
const isAboveZero = (value: Quantity): boolean => new RegExp(aboveZero).test(String(value));

const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const decimal = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];

/** In billionths, rounded up, as Kubernetes does it: exact for every unit. */
export function quantityInNanos(value: Quantity): bigint {
  const found = /^\+?(?<whole>\d*)\.?(?<part>\d*)(?<unit>.*)$/.exec(String(value))?.groups;
  if (!found || !isQuantity(value))
    throw new InvalidInput('QUANTITY', `"${value}" is no quantity such as 4, 500m or 8Gi`);
  const { whole = '', part = '', unit = '' } = found;
  const digits = BigInt(`0${whole}${part}`);
  const binaryPower = binary.indexOf(unit);
  if (binaryPower > 0) return dividedUp(digits * 1024n ** BigInt(binaryPower) * 10n ** 9n, part.length);
  const exponent = /^[eE][-+]?\d/.test(unit) ? Number(unit.slice(1)) : (decimal.indexOf(unit) - 3) * 3;
  const power = 9 + exponent - part.length;
  return power >= 0 ? digits * 10n ** BigInt(power) : dividedUp(digits, -power);
}

function dividedUp(value: bigint, decimals: number): bigint {
  const divisor = 10n ** BigInt(decimals);
  return (value + divisor - 1n) / divisor;
}

const anyQuantity = z.union([z.int().min(0), z.string().max(longest)]);

/** Zero and more. */
export const quantity = (description: string) =>
  ruled(anyQuantity.meta({ 'x-kubernetes-int-or-string': true, maxLength: longest }), {
    cel: `string(self).matches('${grammar}')`,
    holds: isQuantity,
    message: 'must be a quantity such as 4, 500m or 8Gi, and not negative',
  }).describe(description);

export const quantityAboveZero = (description: string) =>
  ruled(quantity(description), {
    cel: `!string(self).matches('${grammar}') || string(self).matches('${aboveZero}')`,
    holds: (value) => !isQuantity(value) || isAboveZero(value),
    message: 'must be more than 0',
  }).describe(description);
