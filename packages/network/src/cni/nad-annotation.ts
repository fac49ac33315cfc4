/**
 * The annotation of the multi-network standard: text such as `a, other/b@lan0`, or a JSON list. What does not parse throws InvalidInput for the whole
 * value; what parses and is not offered is named in its element, which then fails alone.
 */
import { InvalidInput, isCidr, isIp } from '@podloom/api';
import {
  type Selection,
  longestAnnotation,
  mostElements,
  readElements,
  readInterface,
  readMac,
  readName,
} from './element.ts';
import { type JsonObject, isObject, readJson } from './json.ts';

export const nadAnnotation = 'k8s.v1.cni.cncf.io/networks';

const unsupported = [
  'infiniband-guid',
  'portMappings',
  'bandwidth',
  'default-route',
  'ipam-claim-reference',
  'deviceID',
];

export function readNadAnnotation(text: string, podNamespace: string): Selection[] {
  if (text.length > longestAnnotation)
    throw new InvalidInput('ANNOTATION', `${nadAnnotation} has more than ${longestAnnotation} characters`);
  if (text.trim() === '') return [];
  if (!/[[{"]/.test(text)) return readText(text, podNamespace);
  return readElements(readJson(text, nadAnnotation, longestAnnotation), nadAnnotation).map((one, index) =>
    readElement(one, index, podNamespace),
  );
}

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

function readText(text: string, podNamespace: string): Selection[] {
  const parts = text.split(',', mostElements + 1);
  return readElements(parts, nadAnnotation).map((_, index) => {
    const part = (parts[index] ?? '').trim();
    const [whole = '', link, ...links] = part.split('@');
    const [name = '', namespace = podNamespace, ...more] = whole.split('/').toReversed();
    if (links.length + more.length > 0 || !label.test(name) || (namespace !== '' && !label.test(namespace)))
      throw new InvalidInput(
        'ANNOTATION',
        `${nadAnnotation}: "${part.slice(0, 80)}" must be name, namespace/name or namespace/name@interface`,
      );
    const where = `${nadAnnotation}: the interface of "${part.slice(0, 80)}"`;
    return {
      namespace: namespace === '' ? podNamespace : namespace,
      name: readName(name, `${nadAnnotation}: "${part.slice(0, 80)}"`),
      index,
      interface: link === undefined ? undefined : readInterface(link, where),
      unsupported: [],
    };
  });
}

function readElement(value: unknown, index: number, podNamespace: string): Selection {
  const where = `${nadAnnotation}[${index}]`;
  if (!isObject(value)) throw new InvalidInput('ANNOTATION', `${where} must be an object`);
  const { name, namespace, interface: asked, interfaceRequest, ips, mac, 'cni-args': cniArgs } = value;
  const link = asked ?? interfaceRequest;
  const there = namespace === undefined || namespace === '' ? podNamespace : namespace;
  if (typeof there !== 'string' || there.length > 63 || !label.test(there))
    throw new InvalidInput('ANNOTATION', `${where}.namespace must be the name of a namespace`);
  return {
    namespace: there,
    name: readName(name, `${where}.name`),
    index,
    ...(link === undefined || link === '' ? {} : { interface: readInterface(link, `${where}.interface`) }),
    ...(ips === undefined ? {} : { ips: readIps(ips, `${where}.ips`) }),
    ...(mac === undefined || mac === '' ? {} : { mac: readMac(mac, `${where}.mac`) }),
    ...(cniArgs === undefined ? {} : { cniArgs: readArgs(cniArgs, `${where}.cni-args`) }),
    unsupported: unsupported.filter((key) => value[key] !== undefined),
  };
}

const isAddress = (one: unknown): one is string => typeof one === 'string' && (isIp(one) || isCidr(one));

function readIps(value: unknown, where: string): string[] {
  if (Array.isArray(value) && value.length > 0 && value.length <= 32 && value.every(isAddress)) return value;
  throw new InvalidInput('ANNOTATION', `${where} must be 1 to 32 addresses, each with prefix length or without`);
}

function readArgs(value: unknown, where: string): JsonObject {
  if (isObject(value)) return value;
  throw new InvalidInput('ANNOTATION', `${where} must be an object`);
}
