/** `podloom attach` and `podloom detach`: a network more, or less, in a running pod. */
import { Command, InvalidArgumentError } from 'commander';
import { type ConnectOptions, withClient, withConnection } from '../connect.ts';

type AttachOptions = ConnectOptions & {
  readonly interface?: string;
  readonly ip?: string;
  readonly timeout: number;
};

export function attachCommand(): Command {
  return common(new Command('attach'))
    .description('give a running pod a network: it is named in an annotation of the pod, and the interface comes')
    .option('--ip <address>', 'address that the interface is to have, with prefix length or without')
    .addHelpText(
      'after',
      '\nExamples:\n  podloom attach cnf-a data\n  podloom attach cnf-a data -n lab --interface lan0 --ip 10.1.0.7/24',
    )
    .action((pod: string, network: string, options: AttachOptions) => run('attach', pod, network, options));
}

export function detachCommand(): Command {
  return common(new Command('detach'))
    .description('take a network from a running pod: the annotation names it no more, and the interface goes')
    .addHelpText('after', '\nExample:\n  podloom detach cnf-a data')
    .action((pod: string, network: string, options: AttachOptions) => run('detach', pod, network, options));
}

const common = (command: Command): Command =>
  withConnection(command)
    .argument('<pod>', 'name of the pod')
    .argument('<network>', 'NetworkAttachmentDefinition, as name or namespace/name, or Network')
    .option('--interface <name>', 'the interface in the pod (default: named by its place, or by a hash of a Network)')
    .option('--timeout <seconds>', 'how long to wait until it is so', readSeconds, 60);

function readSeconds(text: string): number {
  if (/^[1-9][0-9]{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('must be a whole number of seconds');
}

async function run(what: 'attach' | 'detach', pod: string, network: string, options: AttachOptions): Promise<void> {
  const attachments = await import('../attachments.ts');
  const wish = { pod, network, interface: options.interface, ip: options.ip, timeoutSeconds: options.timeout };
  console.log(await withClient(options, (client, namespace) => attachments[what](client, namespace, wish)));
}
