/** What an administrator can set of the agent, said once: flags, environment, `--help` and the chart's values come from here. */
import { integer, oneOf, path, settings, text } from '@podloom/kube';

export const agentSettings = settings({
  nodeName: text().env('NODE_NAME').describe('Node that this agent serves. Set by the downward API.'),
  criSocket: path().default('auto').describe('Socket of the container runtime. "auto" tries containerd, then CRI-O.'),
  driftPolicy: oneOf('repair', 'report')
    .default('repair')
    .describe('What to do when someone changes a link of ours by hand: mend it, or only say so in status and Events.'),
  cniAllowedPlugins: text()
    .default('bridge,host-local,static')
    .describe(
      'CNI plugins that may be started for interfaces of pods, separated by commas. Those of "ipam" count, too.',
    ),
  cniBinPath: text()
    .default('/opt/cni/bin')
    .describe('Folders of the CNI plugins, separated by colons. The first that has a plugin is used.'),
  cniStatePath: path()
    .default('/var/lib/podloom/cni')
    .describe('Folder that remembers what CNI plugins made. It must outlive the agent.'),
  port: integer({ min: 0, max: 65_535 })
    .default('9464')
    .describe('Port for /healthz, /readyz and /metrics on the node. 0 serves none.'),
});

export type AgentSettings = ReturnType<typeof agentSettings.read>;
