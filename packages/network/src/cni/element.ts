/** One element of an annotation by which a pod names its networks, whichever of the two annotations it stands in. */
import { InvalidInput, isLinkName } from '@podloom/api';
import type { JsonObject } from './json.ts';

export const mostElements = 16;
/** Of an annotation: more than 16 elements can reasonably need. */
export const longestAnnotation = 65_536;

export interface Selection {
  readonly namespace: string;
  readonly name: string;
  /** Place in its list, from 0. */
  readonly index: number;
  readonly interface?: string | undefined;
  readonly ips?: readonly string[] | undefined;
  readonly mac?: string | undefined;
  readonly cniArgs?: JsonObject | undefined;
  /** Fields that the standard has and that are not offered: such an element fails alone. */
  readonly unsupported: readonly string[];
}

const objectName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** A key of an interface has room for it. */
const longestName = 190;
const mac = /^[0-9a-f][02468ace](:[0-9a-f]{2}){5}$/i;

/** Each of these throws InvalidInput; `where` says which element, as in "networks[0]". */
export function readName(value: unknown, where: string): string {
  if (typeof value === 'string' && value.length <= longestName && objectName.test(value)) return value;
  throw new InvalidInput('ANNOTATION', `${where} must be the name of an object, of at most ${longestName} characters`);
}

export function readInterface(value: unknown, where: string): string {
  if (typeof value === 'string' && isLinkName(value)) return value;
  throw new InvalidInput('ANNOTATION', `${where} must be the name of a link, of at most 15 bytes`);
}

export function readMac(value: unknown, where: string): string {
  if (typeof value === 'string' && mac.test(value) && value !== '00:00:00:00:00:00') return value.toLowerCase();
  throw new InvalidInput('ANNOTATION', `${where} must be a unicast MAC address such as 02:00:00:00:00:01`);
}

export function readElements(value: unknown, annotation: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new InvalidInput('ANNOTATION', `${annotation} must be a list`);
  if (value.length <= mostElements) return value as unknown[];
  throw new InvalidInput(
    'ANNOTATION',
    `${annotation} has ${value.length} elements; a pod can have ${mostElements} of them`,
  );
}
