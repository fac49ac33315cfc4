/** The long-running processes in the command tree: for help and completion. What they do is in processes.ts. */
import { Command } from 'commander';
import { type ProcessName, runProcess } from '../processes.ts';

export function networkOperatorCommand(): Command {
  const does = 'run the operator of the networks: composes PodNetworks, gives addresses, reports; one leads';
  const takesBack = 'take everything back, in order, before the product is uninstalled';
  return processCommand('network-operator', does).addCommand(processCommand('network-operator withdraw', takesBack));
}

export function labsOperatorCommand(): Command {
  return processCommand(
    'labs-operator',
    'run the operator of the labs: workspaces, tenants and what they have; one leads',
  );
}

export function agentCommand(): Command {
  return processCommand('agent', 'run the agent of one node: makes its pods as declared; needs root');
}

export function imageListCommand(): Command {
  return processCommand('image-list', 'keep an ImageList as a registry is');
}

export function bastionCommand(): Command {
  const does = "keep the SSH bastion's file of keys as the Tenants have it; works beside sshd";
  const makes = 'make the Secret with the host keys of the bastion, where there is none';
  return processCommand('bastion', does).addCommand(processCommand('bastion host-keys', makes));
}

export function sshTrackerCommand(): Command {
  return processCommand('ssh-tracker', 'count SSH connections of the bastion to instances; needs NET_RAW');
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
