/**
 * The CNI configuration of an object: always a list, whichever form it was written in. Throws InvalidInput for what no plugin should ever see, above all
 * names and types that would lead out of a folder.
 */
import { InvalidInput, type Network, type NetworkAttachmentDefinition, podNetworkRoom } from '@podloom/api';
import { type JsonObject, isObject, readJson } from './json.ts';

export interface CniPlugin extends JsonObject {
  readonly type: string;
}

export interface CniList {
  readonly cniVersion: string;
  readonly name: string;
  /** What else of the list is of any use to whom calls the plugins; they never see it. */
  readonly rest: JsonObject;
  readonly plugins: readonly CniPlugin[];
}

/** What the agent speaks; the oldest where none is named, which every plugin knows. */
const versions = ['0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const;
const mostPlugins = 16;
const kept = new Set(['disableCheck', 'disableGC']);

const safeName = /^[A-Za-z0-9][-A-Za-z0-9_.]{0,190}$/;
const safeType = /^[A-Za-z0-9][-A-Za-z0-9._]{0,62}$/;

export function configOfDefinition({ metadata, spec }: NetworkAttachmentDefinition): CniList {
  const text = spec?.config;
  if (text === undefined || text.trim() === '')
    throw new InvalidInput('CNI_CONFIG', 'spec.config is not set, and configurations on nodes are not read');
  return listOf(parse(text), metadata.name ?? '');
}

export function configOfNetwork({ metadata, spec: { plugin, config } }: Network): CniList {
  const written = config === undefined || config.trim() === '' ? {} : parse(config);
  if (plugin !== undefined && written['plugins'] !== undefined)
    throw new InvalidInput('CNI_CONFIG', 'spec.plugin says one plugin and spec.config has a list; take one out');
  if (plugin !== undefined && written['type'] !== undefined && written['type'] !== plugin)
    throw new InvalidInput('CNI_CONFIG', `spec.config is for another plugin than spec.plugin, which is ${plugin}`);
  return listOf(plugin === undefined ? written : { ...written, type: plugin }, metadata.name ?? '');
}

function parse(text: string): JsonObject {
  const value = readJson(text, 'spec.config', podNetworkRoom.cniConfigBytes);
  if (isObject(value)) return value;
  throw new InvalidInput('CNI_CONFIG', 'spec.config must be a JSON object');
}

function listOf(written: JsonObject, objectName: string): CniList {
  const { name, cniVersion, plugins, ...rest } = written;
  const isList = written['type'] === undefined;
  return {
    cniVersion: readVersion(cniVersion),
    name: readText(name === undefined || name === '' ? objectName : name, safeName, 'name'),
    rest: isList ? Object.fromEntries(Object.entries(rest).filter(([key]) => kept.has(key))) : {},
    plugins: isList ? readPlugins(plugins) : [readPlugin(rest, 'spec.config')],
  };
}

function readVersion(value: unknown): string {
  if (value === undefined || value === '') return versions[0];
  const known = versions.find((version) => version === value);
  if (known !== undefined) return known;
  throw new InvalidInput('CNI_CONFIG', `spec.config: cniVersion must be one of ${versions.join(', ')}`);
}

function readPlugins(value: unknown): CniPlugin[] {
  if (Array.isArray(value) && value.length > 0 && value.length <= mostPlugins)
    return value.map((one: unknown, i) => readPlugin(one, `spec.config: plugins[${i}]`));
  throw new InvalidInput('CNI_CONFIG', `spec.config must have "type", or "plugins" with 1 to ${mostPlugins} of them`);
}

function readPlugin(value: unknown, where: string): CniPlugin {
  if (!isObject(value)) throw new InvalidInput('CNI_CONFIG', `${where} must be an object`);
  const { ipam } = value;
  if (ipam !== undefined && !isObject(ipam)) throw new InvalidInput('CNI_CONFIG', `${where}: ipam must be an object`);
  if (ipam?.['type'] !== undefined) readText(ipam['type'], safeType, 'ipam.type');
  return { ...value, type: readText(value['type'], safeType, 'type') };
}

function readText(value: unknown, pattern: RegExp, key: string): string {
  if (typeof value === 'string' && pattern.test(value)) return value;
  throw new InvalidInput('CNI_CONFIG', `spec.config: ${key} must be a name of letters, digits, ".", "_" and "-"`);
}
