/** The command tree. Each branch is a file in commands/; this file only joins them and says what holds for all. */
import { Argument, Command, CommanderError } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { attachCommand, detachCommand } from './commands/attach.ts';
import { clusterCommand } from './commands/cluster.ts';
import { planCommand } from './commands/plan.ts';
import {
  agentCommand,
  bastionCommand,
  imageListCommand,
  labsOperatorCommand,
  networkOperatorCommand,
  sshTrackerCommand,
} from './commands/process.ts';
import { showCommand } from './commands/show.ts';
import { completeWords, completionScripts, type Shell, shells } from './completion.ts';
import { ExitCode, exitCodeHelp } from './exit-codes.ts';

/** Runs what the arguments ask for. Gives the exit code; what failed for another reason than the arguments is thrown. */
export async function runProgram(): Promise<number | string> {
  try {
    await program().parseAsync();
    return process.exitCode ?? ExitCode.done;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Commander has already said what was wrong, with a hint at --help.
    return error.exitCode === 0 ? ExitCode.done : ExitCode.usage;
  }
}

export function program(): Command {
  const root = new Command('podloom')
    .description('Networks woven into running pods, and a private Kubernetes to try them on')
    .version(manifest.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help; also after every command')
    .addHelpText('after', exitCodeHelp)
    .addCommand(showCommand())
    .addCommand(attachCommand())
    .addCommand(detachCommand())
    .addCommand(planCommand())
    .addCommand(clusterCommand())
    .addCommand(networkOperatorCommand())
    .addCommand(labsOperatorCommand())
    .addCommand(imageListCommand())
    .addCommand(agentCommand())
    .addCommand(bastionCommand())
    .addCommand(sshTrackerCommand())
    .addCommand(completionCommand());
  root.command('__complete [words...]', { hidden: true }).action((words: string[]) => {
    console.log(completeWords(root, words).join('\n'));
  });
  for (const command of everyCommand(root)) command.exitOverride().showHelpAfterError('(--help shows what there is)');
  return root;
}

function completionCommand(): Command {
  return new Command('completion')
    .description('print a completion script for a shell: eval "$(podloom completion bash)"')
    .addArgument(new Argument('<shell>', 'your shell').choices(shells))
    .action((shell: Shell) => console.log(completionScripts[shell]));
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
