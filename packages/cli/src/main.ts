/** The process edge of the command line: arguments in, exit code out. Everything else is in program.ts and commands/. */
import { CommanderError } from 'commander';
import { ExitCode, exitCodeOf } from './exit-codes.ts';
import { program } from './program.ts';

try {
  await program().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has already said what was wrong, with a hint at --help.
    process.exitCode = error.exitCode === 0 ? ExitCode.done : ExitCode.usage;
  } else {
    console.error(`podloom: ${error instanceof Error ? error.message : String(error)}`);
    if (process.env['PODLOOM_DEBUG'] && error instanceof Error) console.error(error.stack);
    process.exitCode = exitCodeOf(error);
  }
}
