/** `podloom network-operator` and `podloom agent` in the command tree: for help and completion. What they do is in processes.ts. */
import { Command } from 'commander';
import { type ProcessName, runProcess } from '../processes.ts';

export function networkOperatorCommand(): Command {
  const does = 'run the operator of the networks: composes PodNetworks, gives addresses, reports; one leads';
  const takesBack = 'take everything back, in order, before the product is uninstalled';
  return processCommand('network-operator', does).addCommand(processCommand('network-operator withdraw', takesBack));
}

export function agentCommand(): Command {
  return processCommand('agent', 'run the agent of one node: makes its pods as declared; needs root');
}

/** Its flags are not commander's to read. */
function processCommand(name: ProcessName, description: string): Command {
  return new Command(name.split(' ').at(-1))
    .description(description)
    .helpOption(false)
    .allowUnknownOption()
    .argument('[settings...]', 'see --help')
    .action((args: string[]) => runProcess(name, args));
}
