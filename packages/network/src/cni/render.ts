/**
 * From what an object says, what a pod asks of it and what its namespace was granted, to what the agent calls plugins with. Pure: nothing is read from a node.
 */
import { type NetworkGrant, type PodInterfaceCni, podNetworkRoom } from '@podloom/api';
import { type Allowed, capabilitiesOf, grantedPlugin, plainPlugin } from './allowed.ts';
import type { CniList, CniPlugin } from './config.ts';
import { type JsonObject, bytesOf, isObject } from './json.ts';

/** What a pod asks of a network. */
export interface CniWish {
  readonly list: CniList;
  /** Namespace and name of the object. */
  readonly network: { readonly namespace: string; readonly name: string };
  readonly podNamespace: string;
  readonly cniArgs?: JsonObject | undefined;
  readonly ips?: readonly string[] | undefined;
  readonly mac?: string | undefined;
  /** What stands in CNI_ARGS beside what is the same for all pods. */
  readonly args?: PodInterfaceCni['args'];
  /** A plugin without this capability finds the MAC in args.cni. */
  readonly macInArgs?: boolean | undefined;
}

export interface CniRefusal {
  readonly reason: 'NotGranted' | 'NoCapability' | 'InvalidConfig';
  readonly message: string;
}

/** Grants are those for the pod's namespace; absent where they cannot be read, and then nothing is refused for lack of them. */
export function renderCni(
  wish: CniWish,
  grants: readonly NetworkGrant[] | undefined,
): { readonly cni: PodInterfaceCni } | CniRefusal {
  const lacking = sharing(wish, grants) ?? incapable(wish);
  if (lacking) return lacking;
  const plugins: CniPlugin[] = [];
  for (const [i, plugin] of wish.list.plugins.entries()) {
    const allowed = allowedPlugin(plugin, i === 0, wish, grants);
    if (!allowed.plugin) return notGranted(wish, `needs a NetworkGrant (cniPlugins) for ${allowed.needsGrant}`);
    plugins.push(withArgs(allowed.plugin, wish));
  }
  const { cniVersion, name, rest } = wish.list;
  const config = JSON.stringify({ ...rest, cniVersion, name, plugins });
  if (bytesOf(config) > podNetworkRoom.cniConfigBytes) {
    const message = `${nameOf(wish)}: its configuration, with what the pod asks for, has more than ${podNetworkRoom.cniConfigBytes} bytes`;
    return { reason: 'InvalidConfig', message };
  }
  const { ips, mac, args } = wish;
  const isMacDeclared = mac !== undefined && declares(wish, 'mac');
  const capabilities = { ...(ips && { ips: [...ips] }), ...(isMacDeclared && { mac }) };
  return {
    cni: {
      config,
      ...(args === undefined ? {} : { args }),
      ...(Object.keys(capabilities).length === 0 ? {} : { capabilities }),
    },
  };
}

const nameOf = ({ network, podNamespace }: CniWish): string =>
  network.namespace === podNamespace ? network.name : `${network.namespace}/${network.name}`;

const notGranted = (wish: CniWish, what: string): CniRefusal => ({
  reason: 'NotGranted',
  message: `Network ${nameOf(wish)} ${what}, which namespace ${wish.podNamespace} does not have; ask an administrator`,
});

function sharing(wish: CniWish, grants: readonly NetworkGrant[] | undefined): CniRefusal | undefined {
  const { namespace, name } = wish.network;
  if (namespace === wish.podNamespace || !grants) return undefined;
  const isShared = grants.some(({ spec }) =>
    spec.sharedNetworks?.some((one) => one.namespace === namespace && one.name === name),
  );
  return isShared ? undefined : notGranted(wish, 'is of another namespace and needs a NetworkGrant (sharedNetworks)');
}

/** Throws InvalidInput where one of its plugins says of itself what cannot be read. */
export const checkCapabilities = ({ plugins }: CniList): void => plugins.forEach(capabilitiesOf);

const declares = ({ list }: CniWish, capability: string): boolean =>
  list.plugins.some((plugin) => capabilitiesOf(plugin).has(capability));

function incapable(wish: CniWish): CniRefusal | undefined {
  const asked = [...(wish.ips ? ['ips'] : []), ...(wish.mac !== undefined && !wish.macInArgs ? ['mac'] : [])];
  const missing = asked.find((capability) => !declares(wish, capability));
  if (missing === undefined) return undefined;
  const message = `The pod asks network ${nameOf(wish)} for ${missing}, and none of its plugins declares the capability "${missing}"`;
  return { reason: 'NoCapability', message };
}

/** As written for who was granted the type, else as everybody may have it. */
function allowedPlugin(
  plugin: CniPlugin,
  isFirst: boolean,
  { network: { namespace } }: CniWish,
  grants: readonly NetworkGrant[] | undefined,
): Allowed {
  const isGranted = (type: string): boolean =>
    grants?.some(({ spec }) => spec.cniPlugins?.includes(type)) ?? type !== 'bridge';
  if (isGranted(plugin.type)) return grantedPlugin(plugin, namespace, isGranted);
  // The agent makes the bridge of the first plugin, and of no other.
  return isFirst ? plainPlugin(plugin, namespace) : { needsGrant: `plugin ${plugin.type} after the first` };
}

/** Arguments of the pod win over those of the object, in each plugin. */
function withArgs(plugin: CniPlugin, wish: CniWish): CniPlugin {
  const isMacHere = wish.macInArgs && wish.mac !== undefined && !declares(wish, 'mac');
  const asked = { ...wish.cniArgs, ...(isMacHere && { mac: wish.mac }) };
  if (Object.keys(asked).length === 0) return plugin;
  const args = isObject(plugin['args']) ? plugin['args'] : {};
  const cni = isObject(args['cni']) ? args['cni'] : {};
  return { ...plugin, args: { ...args, cni: { ...cni, ...asked } } };
}
