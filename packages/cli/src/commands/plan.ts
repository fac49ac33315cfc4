/** `podloom plan`: the exact kernel changes that objects would cause, or that a pod still waits for; nothing is done. */
import { Command } from 'commander';
import { type ConnectOptions, withClient, withConnection } from '../connect.ts';
import { type OutputFormat, outputOption } from '../print.ts';

type PlanOptions = ConnectOptions & { readonly filename?: string; readonly output: OutputFormat };

/** Beside what is printed, so that a file of it holds nothing else. */
const tell = (what: string): void => console.error(what);

export function planCommand(): Command {
  return withConnection(new Command('plan'))
    .description('print the exact kernel changes that would happen, without doing anything')
    .argument('[pod]', 'a pod: what is still to be done for it')
    .option('-f, --filename <file>', 'objects: what applying them would do to all pods; - for standard input')
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExamples:\n  podloom plan -f podconfig.yaml\n  podloom plan cnf-example-a-846566d4fb-7rxft -o json',
    )
    .action(async (pod: string | undefined, options: PlanOptions, command: Command) => {
      const { filename, output } = options;
      if ((pod === undefined) === (filename === undefined))
        command.error('error: name a pod, or a file with -f, and not both');
      const { describePreviews, planExisting, planFile } = await import('../previews.ts');
      const previews = await withClient(options, (client, namespace) =>
        filename === undefined
          ? planExisting(client, namespace, pod ?? '', tell)
          : planFile(client, namespace, filename, tell),
      );
      if (output === 'json') console.log(JSON.stringify(previews, null, 2));
      else process.stdout.write(describePreviews(previews));
    });
}
