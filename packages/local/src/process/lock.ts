/**
 * A lock between processes of this machine that needs no file and cannot be left behind: a socket with an abstract name
 * exists exactly as long as the process that made it (unix(7)).
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Runs `work` while no other process holds the lock of this name; waits for its turn. */
export async function withLock<T>(name: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const release = await acquire(name, signal);
  try {
    return await work();
  } finally {
    await release();
  }
}

async function acquire(name: string, signal?: AbortSignal): Promise<() => Promise<void>> {
  for (;;) {
    const release = await tryLock(name);
    if (release) return release;
    await delay(100, undefined, { signal });
  }
}

/** Takes the lock and returns what gives it back; undefined where another has it. */
export async function tryLock(name: string): Promise<(() => Promise<void>) | undefined> {
  // Hashed because a name may be long and an abstract address holds 107 bytes.
  const path = `\0podloom/${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
  const server = createServer((socket) => socket.destroy());
  const taken = await new Promise<boolean>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(true) : reject(error),
    );
    server.listen({ path }, () => resolve(false));
  });
  if (taken) return undefined;
  return async () => {
    await new Promise((resolve) => server.close(resolve));
  };
}
