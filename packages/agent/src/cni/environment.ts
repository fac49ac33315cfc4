/** The environment that a plugin is started in: nothing of the agent's own, only what the CNI specification names. Pure. */
import { networkKind } from '@podloom/api';
import { type Attachment, type PluginCommand, refused } from './attachment.ts';

const { resource } = networkKind;

type Pair = readonly [name: string, value: string];

export interface Call {
  readonly command: PluginCommand;
  readonly attachment: Attachment;
  /** CNI_NETNS; absent where the namespace is gone, which DEL can do without. */
  readonly netnsPath: string | undefined;
  /** CNI_PATH: folders, separated by colons. */
  readonly binPath: string;
}

/** Where plugins that start other programs look for them. */
const programs = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export function environmentOf({ command, attachment, netnsPath, binPath }: Call): Record<string, string> {
  const { sandboxId, interfaceName } = attachment;
  if (!isSandboxId(sandboxId)) throw refused('InvalidSandbox', `"${sandboxId}" cannot be a CNI container id`);
  return {
    CNI_COMMAND: command,
    CNI_CONTAINERID: sandboxId,
    ...(netnsPath === undefined ? {} : { CNI_NETNS: netnsPath }),
    CNI_IFNAME: interfaceName,
    CNI_ARGS: argumentsOf(attachment),
    CNI_PATH: binPath,
    PATH: programs,
  };
}

export const isSandboxId = (text: string): boolean => /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/.test(text);

/** First what every plugin gets, in the order that the standard of the source has; then what the element adds. */
export function argumentsOf(attachment: Attachment): string {
  const further = attachment.args.map(({ name, value }): Pair => [name, value]);
  const always = podPairs(attachment);
  // Plugins take the last of two: an element would name another pod.
  const twice = further.find(([name], index) => [...always, ...further.slice(0, index)].some(([one]) => one === name));
  if (twice) throw refused('InvalidArgument', `The CNI argument ${JSON.stringify(twice[0])} cannot be given again`);
  const ofSource = sourcePairs(attachment).filter(([name]) => !further.some(([one]) => one === name));
  return [...always, ...ofSource, ...further].map(toText).join(';');
}

const isNetwork = ({ source: { apiVersion, kind } }: Attachment): boolean =>
  kind === resource.kind && apiVersion === `${resource.group}/${resource.version}`;

const podPairs = (attachment: Attachment): Pair[] => [
  ['IgnoreUnknown', isNetwork(attachment) ? '1' : 'true'],
  ['K8S_POD_NAMESPACE', attachment.pod.namespace],
  ['K8S_POD_NAME', attachment.pod.name],
  ['K8S_POD_INFRA_CONTAINER_ID', attachment.sandboxId],
  ...(isNetwork(attachment) ? [] : [['K8S_POD_UID', attachment.pod.uid] as const]),
];

/** Of a Network; where the operator says them itself, in its words. */
const sourcePairs = (attachment: Attachment): Pair[] =>
  isNetwork(attachment)
    ? [
        ['K8S_POD_NETWORK', attachment.source.name],
        ['K8S_POD_IFMAC', attachment.capabilities.mac ?? ''],
      ]
    : [];

/** A pair with another of either sign would be two, or an error of the plugin; no program can be given a zero byte. */
function toText([name, value]: Pair): string {
  if (/^[^;=\0]+$/.test(name) && /^[^;=\0]*$/.test(value)) return `${name}=${value}`;
  throw refused('InvalidArgument', `The CNI argument ${JSON.stringify(name)} has ";" or "=" in it, or no name`);
}
