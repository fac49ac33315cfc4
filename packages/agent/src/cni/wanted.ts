/** From a PodNetwork to what its plugins are to make, and from there to where. */
import type { PodInterface, PodInterfaceCni, PodNetwork } from '@podloom/api';
import { type ObjectKey, keyOf } from '@podloom/kube';
import { type PodProcess, netnsOf } from '../cri/finder.ts';
import { isLeaving } from '../reconcile/node.ts';
import type { Attachment } from './attachment.ts';

type PluginInterface = PodInterface & { readonly name: string; readonly cni: PodInterfaceCni };

const isOfPlugin = (one: PodInterface): one is PluginInterface => one.cni !== undefined && one.name !== undefined;

export const pluginInterfaces = (network: PodNetwork): PluginInterface[] =>
  isLeaving(network) ? [] : network.spec.interfaces.filter(isOfPlugin);

export function wantedOf(network: PodNetwork, { sandboxId, netnsPid, inode }: PodProcess): Attachment[] {
  const { name = '', namespace = '' } = network.metadata;
  return pluginInterfaces(network).map(({ key, name: interfaceName, source, cni }) => ({
    sandboxId,
    interfaceName,
    key,
    pod: { namespace, name, uid: network.spec.podUid },
    source: { apiVersion: source.apiVersion, kind: source.kind, name: source.name },
    config: cni.config,
    args: cni.args ?? [],
    capabilities: cni.capabilities ?? {},
    netns: { pid: netnsPid, inode },
  }));
}

export const podOf = ({ pod: { name, namespace } }: Attachment): ObjectKey => keyOf({ metadata: { name, namespace } });

/** The number may be that of another process by now: then the namespace is gone, or nobody knows where it is. */
export const isAlive = ({ netns: { pid, inode } }: Attachment): boolean => netnsOf(pid) === inode;

export const netnsPath = ({ netns: { pid } }: Attachment): string => `/proc/${pid}/ns/net`;
