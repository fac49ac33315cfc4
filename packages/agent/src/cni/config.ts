/**
 * A CNI configuration list: checked again here, because what it names is run as root, and made into what each plugin reads. Pure.
 * The operator renders it; it comes from text that a tenant wrote, so nothing in it is believed.
 */
import { type Attachment, refused } from './attachment.ts';

export type JsonObject = { readonly [key: string]: unknown };

export interface PluginConfig extends JsonObject {
  readonly type: string;
}

export interface ConfigList {
  readonly name: string;
  readonly cniVersion: string;
  readonly disableCheck: boolean;
  readonly plugins: readonly PluginConfig[];
}

/** Newest first. */
const versions = ['1.1.0', '1.0.0', '0.4.0', '0.3.1'];
const mostBytes = 16_384;
const deepest = 16;
const mostPlugins = 16;

const invalid = (message: string) => refused('InvalidConfig', `The CNI configuration ${message}`);

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function parseConfig(text: string): ConfigList {
  if (Buffer.byteLength(text) > mostBytes) throw invalid(`is larger than ${mostBytes} bytes`);
  const list = parseJson(text);
  if (!isObject(list)) throw invalid('is not a JSON object');
  if (isDeeperThan(list, deepest)) throw invalid(`is nested deeper than ${deepest}`);
  const { name, plugins, disableCheck } = list;
  if (typeof name !== 'string' || !/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,252}$/.test(name)) throw invalid('has no usable name');
  if (!Array.isArray(plugins) || plugins.length === 0) throw invalid('has no plugins');
  if (plugins.length > mostPlugins) throw invalid(`has more than ${mostPlugins} plugins`);
  return { name, cniVersion: versionOf(list), disableCheck: disableCheck === true, plugins: plugins.map(parsePlugin) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) throw invalid(`is not JSON: ${error.message}`);
    throw error;
  }
}

const isDeeperThan = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1)));

/** Of several the newest that both sides know. */
function versionOf({ cniVersion, cniVersions }: JsonObject): string {
  const offered = new Set([cniVersion, ...(Array.isArray(cniVersions) ? (cniVersions as unknown[]) : [])]);
  const version = versions.find((one) => offered.has(one));
  if (version === undefined) throw invalid(`has no cniVersion of ${versions.toReversed().join(', ')}`);
  return version;
}

function parsePlugin(plugin: unknown): PluginConfig {
  if (!isObject(plugin)) throw invalid('has a plugin that is no JSON object');
  const { ipam } = plugin;
  if (ipam !== undefined && !isObject(ipam)) throw invalid('has an ipam that is no JSON object');
  // Addresses of the plugin itself may be left to nobody: an empty ipam, or one without type.
  const ipamType = ipam?.['type'] ?? '';
  if (ipamType !== '') parseType(ipamType);
  return { ...plugin, type: parseType(plugin['type']) };
}

/** The name of a program in the folder of plugins: never a path. */
function parseType(type: unknown): string {
  if (typeof type === 'string' && /^[a-zA-Z0-9._-]{1,63}$/.test(type) && !/^\.+$/.test(type)) return type;
  throw invalid(`names a plugin ${JSON.stringify(type)?.slice(0, 80)}, which cannot be the name of a program`);
}

/** Every program that the configuration makes run: plugins run that of their ipam. */
const typesOf = ({ plugins }: ConfigList): string[] =>
  plugins.flatMap(({ type, ipam }) => {
    const ipamType = isObject(ipam) ? ipam['type'] : undefined;
    return typeof ipamType === 'string' && ipamType !== '' ? [type, ipamType] : [type];
  });

/** All of the chain before any of it is started. Not for DEL: what was started by an agent that allowed it must come to an end. */
export function refuseOthers(list: ConfigList, allowed: ReadonlySet<string>): void {
  const other = typesOf(list).find((type) => !allowed.has(type));
  if (other === undefined) return;
  const names = [...allowed].join(', ') || 'none';
  throw refused('PluginNotAllowed', `The CNI plugin ${other} is not allowed on this node; allowed are: ${names}`);
}

/** A value that no plugin takes would be dropped without a word. */
export function refuseUnused(list: ConfigList, { capabilities }: Pick<Attachment, 'capabilities'>): void {
  for (const [name, value] of Object.entries(capabilities)) {
    if (value === undefined || list.plugins.some((plugin) => declares(plugin, name))) continue;
    throw refused('NoCapability', `No plugin of the network ${list.name} declares the capability ${name}`);
  }
}

const declares = ({ capabilities }: PluginConfig, name: string): boolean =>
  isObject(capabilities) && capabilities[name] === true;

/** What one plugin of the list reads on its standard input. Keys that nobody knows stay as they are. */
export function pluginInput(
  list: Pick<ConfigList, 'name' | 'cniVersion'>,
  plugin: PluginConfig,
  { capabilities }: Pick<Attachment, 'capabilities'>,
  prevResult: unknown,
): JsonObject {
  const { capabilities: _declared, runtimeConfig: _theirs, prevResult: _written, ...rest } = plugin;
  const given = Object.entries(capabilities).filter(([name, value]) => value !== undefined && declares(plugin, name));
  return {
    ...rest,
    name: list.name,
    cniVersion: list.cniVersion,
    ...(given.length === 0 ? {} : { runtimeConfig: Object.fromEntries(given) }),
    ...(prevResult === undefined ? {} : { prevResult }),
  };
}

/** Since 0.4.0 there is CHECK, and DEL gets the result of ADD. */
export const hasCheck = ({ cniVersion }: Pick<ConfigList, 'cniVersion'>): boolean => cniVersion !== '0.3.1';

/** The bridge that is ours to make: a name of this form is one that the operator rendered. */
export function ownBridge({ plugins: [first] }: ConfigList): string | undefined {
  const name = first?.type === 'bridge' ? first['bridge'] : undefined;
  return typeof name === 'string' && /^pl[0-9a-f]{12}$/.test(name) ? name : undefined;
}
