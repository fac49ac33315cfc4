/** Wires the executor into a node: which plugins it may start, where it writes down what they made, and the bridges that it makes for them. */
import { Conflict } from '@podloom/api';
import type { Clock, Log } from '@podloom/kube';
import { type Netns, isNetlinkError } from '@podloom/netlink';
import { linkGroup } from '@podloom/network';
import type { NodeView } from '../observe/node.ts';
import type { AgentSettings } from '../settings.ts';
import { pluginChain } from './chain.ts';
import { type PluginExecutor, pluginExecutor } from './executor.ts';
import { journalIn } from './journal.ts';
import type { PluginHost } from './plugin.ts';

/** A plugin that asks a server for an address may take some seconds. */
const limitMs = 30_000;

type PluginSettings = Pick<AgentSettings, 'cniAllowedPlugins' | 'cniBinPath' | 'cniStatePath'>;

export function executorIn(
  node: Netns,
  view: Pick<NodeView, 'touchAll'>,
  { cniAllowedPlugins, cniBinPath, cniStatePath }: PluginSettings,
  deps: { readonly clock: Pick<Clock, 'monotonicMs'>; readonly log: Log; readonly limitMs?: number },
): PluginExecutor {
  const names = cniAllowedPlugins.split(',').map((name) => name.trim());
  const allowed = new Set(names.filter((name) => name !== ''));
  const inNode: PluginHost['inNode'] = (start) => node.run(start);
  return pluginExecutor({
    ...deps,
    chain: pluginChain({ binPath: cniBinPath, limitMs: deps.limitMs ?? limitMs, inNode }, allowed),
    journal: journalIn(cniStatePath),
    ensureBridge(name) {
      ensureBridge(node, name);
      view.touchAll();
    },
  });
}

/** Made by us and not by the plugin, so that it carries our group from its beginning, and goes when nobody uses it. */
function ensureBridge(node: Pick<Netns, 'link'>, name: string): void {
  try {
    node.link.add({ kind: 'bridge', name, group: linkGroup });
  } catch (error) {
    if (!isNetlinkError(error, 'EEXIST')) throw error;
    const { kind, group } = node.link.get(name);
    if (kind === 'bridge' && group === linkGroup) return;
    throw new Conflict('BridgeTaken', `The node has a link ${name} that was not made by Podloom`);
  }
}
