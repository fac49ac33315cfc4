/** `podloom show POD`: the pod's networks as a drawing. */
import { Command } from 'commander';
import { type ConnectOptions, withClient, withConnection } from '../connect.ts';
import { type OutputFormat, outputOption } from '../print.ts';

export function showCommand(): Command {
  return withConnection(new Command('show'))
    .description("draw a pod's networks: links, addresses, peers, bridge, node")
    .argument('<pod>', 'name of the pod')
    .addOption(outputOption())
    .action(async (pod: string, options: ConnectOptions & { output: OutputFormat }) => {
      const [{ podNetworkKind }, { drawPod }] = await Promise.all([import('@podloom/api'), import('@podloom/network')]);
      await withClient(options, async (client, namespace) => {
        const fieldSelector = `metadata.name=${pod}`;
        const [network] = (await client.list(podNetworkKind.resource, { namespace, fieldSelector })).items;
        if (options.output === 'json') console.log(JSON.stringify(network ?? null, null, 2));
        else if (network) process.stdout.write(drawPod(network));
        else console.log(`Pod ${namespace}/${pod} has no networks besides the cluster's own, or there is no such pod`);
      });
    });
}
