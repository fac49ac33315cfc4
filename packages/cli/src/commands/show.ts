/** `podloom show`: one pod's networks as a drawing, or the pods of the namespace that have networks as a table. */
import type { PodNetwork } from '@podloom/api';
import type { Client } from '@podloom/kube';
import { Command } from 'commander';
import { type ConnectOptions, withClient, withConnection } from '../connect.ts';
import { type Column, type OutputFormat, formatTable, outputOption } from '../print.ts';

type ShowOptions = ConnectOptions & { readonly output: OutputFormat };

export function showCommand(): Command {
  return withConnection(new Command('show'))
    .description("draw a pod's networks: links, addresses, peers, bridge, node")
    .argument('[pod]', 'name of the pod; without it, all pods of the namespace that have networks are listed')
    .addOption(outputOption())
    .action((pod: string | undefined, options: ShowOptions) =>
      withClient(options, (client, namespace) =>
        pod === undefined
          ? listPods(client, namespace, options.output)
          : drawOne(client, namespace, pod, options.output),
      ),
    );
}

async function drawOne(client: Client, namespace: string, pod: string, output: OutputFormat): Promise<void> {
  const [{ podNetworkKind }, { drawPod }] = await Promise.all([import('@podloom/api'), import('@podloom/network')]);
  const fieldSelector = `metadata.name=${pod}`;
  const [network] = (await client.list(podNetworkKind.resource, { namespace, fieldSelector })).items;
  if (!network) await mustExist(client, namespace, pod);
  if (output === 'json') console.log(JSON.stringify(network ?? null, null, 2));
  else if (network) process.stdout.write(drawPod(network));
  else console.log(`Pod ${namespace}/${pod} has no networks besides the cluster's own`);
}

/** A pod that has no networks has no PodNetwork either. Only the pods themselves tell it from one that does not exist. */
async function mustExist(client: Client, namespace: string, pod: string): Promise<void> {
  const [{ InvalidInput, Unavailable }, { isForbidden, pods }] = await Promise.all([
    import('@podloom/api'),
    import('@podloom/kube'),
  ]);
  const fieldSelector = `metadata.name=${pod}`;
  const { items } = await client.list(pods, { namespace, fieldSelector }).catch((cause: unknown) => {
    if (!isForbidden(cause)) throw cause;
    const message = `Pod ${namespace}/${pod} has no networks, and you may not list pods there, so it may not exist at all`;
    throw new Unavailable('POD_UNKNOWN', message, { cause });
  });
  if (items.length > 0) return;
  const message = `There is no pod ${pod} in namespace ${namespace}; podloom show -n ${namespace} lists those that have networks`;
  throw new InvalidInput('NO_POD', message);
}

const readyOf = ({ status }: PodNetwork) => status?.conditions?.find(({ type }) => type === 'Ready');

/** The columns of `kubectl get podnetworks`. */
const columns: readonly Column<PodNetwork>[] = [
  { title: 'Pod', of: ({ metadata }) => metadata.name },
  { title: 'Node', of: ({ spec }) => spec.nodeName },
  { title: 'Networks', of: ({ status }) => status?.networks },
  { title: 'Ready', of: (network) => readyOf(network)?.status },
  { title: 'Reason', of: (network) => readyOf(network)?.reason },
];

async function listPods(client: Client, namespace: string, output: OutputFormat): Promise<void> {
  const { podNetworkKind } = await import('@podloom/api');
  const { items } = await client.list(podNetworkKind.resource, { namespace });
  if (output === 'json') console.log(JSON.stringify(items, null, 2));
  else if (items.length > 0) console.log(formatTable(items, columns));
  else console.log(`No pod of namespace ${namespace} has networks besides the cluster's own`);
}
