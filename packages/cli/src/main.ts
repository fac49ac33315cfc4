/** The process edge of the command line: arguments in, exit code out. Everything else is in program.ts, commands/ and processes.ts. */
import { exitCodeOf } from './exit-codes.ts';
import { processNamed, runProcess } from './processes.ts';

try {
  const named = processNamed(process.argv.slice(2));
  if (named) await runProcess(...named);
  else process.exitCode = await (await import('./program.ts')).runProgram();
} catch (error) {
  console.error(`podloom: ${error instanceof Error ? error.message : String(error)}`);
  if (process.env['PODLOOM_DEBUG'] && error instanceof Error) console.error(error.stack);
  process.exitCode = exitCodeOf(error);
}
