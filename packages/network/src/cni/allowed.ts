/**
 * What everybody may have of CNI without a grant: a bridge and its addresses, with the keys that are listed here and in docs/reference/cni.md. Its names
 * are given by us, so that no tenant names a device of the node, meets another's bridge, or shares the leases of the cluster's own plugin.
 */
import { InvalidInput, isLinkName } from '@podloom/api';
import type { CniPlugin } from './config.ts';
import { type JsonObject, isObject } from './json.ts';
import { md5 } from './md5.ts';

const bridgeKeys = new Set(['type', 'bridge', 'mtu', 'hairpinMode', 'portIsolation', 'capabilities', 'args', 'ipam']);
/** Everybody may say that these are not wanted. */
const onlyFalse = new Set(['isGateway', 'isDefaultGateway', 'forceAddress', 'ipMasq', 'promiscMode']);
const ipamKeys: Readonly<Record<string, readonly string[]>> = {
  'host-local': ['type', 'subnet', 'rangeStart', 'rangeEnd', 'gateway', 'routes', 'ranges'],
  static: ['type', 'addresses', 'routes'],
};

/** `own` is the namespace of the object: who names a shared network is on its bridge. */
export const ownBridge = (own: string, bridge: string): string => `pl${md5(`${own}/${bridge}`).slice(0, 12)}`;
const leaseFolder = (own: string): string => `/var/lib/podloom/ipam/${own}`;

/** A plugin as it may be called, or the first thing that needs a grant. */
export type Allowed =
  | { readonly plugin: CniPlugin; readonly needsGrant?: undefined }
  | { readonly needsGrant: string; readonly plugin?: undefined };

/** As everybody may have it. */
export function plainPlugin(plugin: CniPlugin, own: string): Allowed {
  if (plugin.type !== 'bridge') return { needsGrant: `plugin ${plugin.type}` };
  const key = Object.keys(plugin).find((one) => !bridgeKeys.has(one) && !(onlyFalse.has(one) && plugin[one] === false));
  if (key !== undefined) return { needsGrant: `key ${key.slice(0, 63)} of plugin bridge` };
  const { bridge = 'cni0', ipam, mtu } = plugin;
  if (typeof bridge !== 'string' || !isLinkName(bridge)) return { needsGrant: 'such a name of a bridge' };
  if (mtu !== undefined && !isMtu(mtu)) return { needsGrant: 'such an mtu' };
  if (ipam !== undefined && !isObject(ipam)) return { needsGrant: 'such an ipam' };
  const addressing = ipam && plainIpam(ipam, own);
  if (addressing?.needsGrant !== undefined) return addressing;
  const ours = { ...plugin, bridge: ownBridge(own, bridge) };
  return { plugin: addressing ? { ...ours, ipam: addressing.ipam } : ours };
}

const isMtu = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 68 && value <= 65_535;

type AllowedIpam =
  | { readonly ipam: JsonObject; readonly needsGrant?: undefined }
  | { readonly needsGrant: string; readonly ipam?: undefined };

function plainIpam(ipam: JsonObject, own: string): AllowedIpam {
  if (Object.keys(ipam).length === 0) return { ipam };
  const type = typeof ipam['type'] === 'string' ? ipam['type'] : '';
  const keys = Object.hasOwn(ipamKeys, type) ? ipamKeys[type] : undefined;
  if (!keys) return { needsGrant: `plugin ${type === '' ? 'without a type for addresses' : type}` };
  const key = Object.keys(ipam).find((one) => !keys.includes(one));
  if (key !== undefined) return { needsGrant: `key ipam.${key.slice(0, 63)}` };
  return { ipam: withOwnLeases(ipam, own) };
}

const withOwnLeases = (ipam: JsonObject, own: string): JsonObject =>
  ipam['type'] === 'host-local' && ipam['dataDir'] === undefined ? { ...ipam, dataDir: leaseFolder(own) } : ipam;

/** As it is written, for who was granted its type: what it uses for addresses is plain, or granted as well. */
export function grantedPlugin(plugin: CniPlugin, own: string, isGranted: (type: string) => boolean): Allowed {
  const { ipam } = plugin;
  if (!isObject(ipam)) return { plugin };
  const isWhole = typeof ipam['type'] === 'string' && isGranted(ipam['type']);
  const addressing = isWhole ? { ipam: withOwnLeases(ipam, own) } : plainIpam(ipam, own);
  if (addressing.ipam === undefined) return { needsGrant: addressing.needsGrant };
  return { plugin: { ...plugin, ipam: addressing.ipam } };
}

/** Throws InvalidInput where they cannot be read. */
export function capabilitiesOf({ capabilities }: CniPlugin): ReadonlySet<string> {
  if (capabilities === undefined) return new Set();
  if (!isObject(capabilities)) throw new InvalidInput('CNI_CONFIG', 'spec.config: capabilities must be an object');
  return new Set(Object.keys(capabilities).filter((key) => capabilities[key] === true));
}
