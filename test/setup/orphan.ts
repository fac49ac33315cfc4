/** A worker lives on when Vitest was killed, until its test is over: it holds open what should end with the run, and works beside the next one. */
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
