/** What the exit codes promise. They are part of the command line's interface and are listed in `podloom --help`. */

export const ExitCode = {
  done: 0,
  /** It could not be done; the message says what to do next. */
  failed: 1,
  /** The command line or its input was wrong; trying again without a change is pointless. */
  usage: 2,
} as const;

export const exitCodeHelp = `
Exit codes:
  0  done
  1  could not be done; the message says what to do next
  2  wrong usage or wrong input
  With "cluster exec" the code is that of the command that was run.

Environment:
  PODLOOM_DEBUG=1  show where an error came from`;

/** An error that only a changed input can mend (see the kinds of errors in packages/api) is wrong input. */
export function exitCodeOf(error: unknown): number {
  const waits = typeof error === 'object' && error !== null && 'retry' in error && error.retry === 'whenChanged';
  return waits ? ExitCode.usage : ExitCode.failed;
}
