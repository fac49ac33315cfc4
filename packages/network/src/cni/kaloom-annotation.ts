/** The annotation of the Kaloom podagent: a JSON list of objects, of which the order says nothing. What does not parse throws InvalidInput for the whole. */
import { InvalidInput } from '@podloom/api';
import { type Selection, longestAnnotation, readElements, readMac, readName } from './element.ts';
import { isObject, readJson } from './json.ts';
import { md5 } from './md5.ts';

export const kaloomAnnotation = 'networks';

/** As kactus names it: `green` is `net9f27410725ab`. */
export const kaloomDevice = (network: string): string => `net${md5(network).slice(0, 12)}`;

/** Without those that the podagent leaves alone. One that is named twice is one. */
export function readKaloomAnnotation(text: string, namespace: string): Selection[] {
  if (text.trim() === '') return [];
  const found = new Map<string, Selection>();
  const elements = readElements(readJson(text, kaloomAnnotation, longestAnnotation), kaloomAnnotation);
  for (const [index, value] of elements.entries()) {
    const where = `${kaloomAnnotation}[${index}]`;
    if (!isObject(value)) throw new InvalidInput('ANNOTATION', `${where} must be an object`);
    const name = readName(value['name'], `${where}.name`);
    const { ifMac } = value;
    const isLeft = [value['isPrimary'], value['podagentSkip']].map((one) => readFlag(one, where)).includes(true);
    const mac = ifMac === undefined || ifMac === '' ? {} : { mac: readMac(ifMac, `${where}.ifMac`) };
    if (!isLeft && !found.has(name))
      found.set(name, { namespace, name, index, interface: kaloomDevice(name), ...mac, unsupported: [] });
  }
  return [...found.values()];
}

function readFlag(value: unknown, where: string): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false;
  throw new InvalidInput('ANNOTATION', `${where}: isPrimary and podagentSkip must be true or false`);
}
