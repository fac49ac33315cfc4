/** Secrets of the parts: made once, and kept for the life of the cluster, because people have written them into places of their own. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The text of the file, which is made with a random secret where it is not there. */
export async function ensureSecret(file: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const kept = await readIfThere(file);
  if (kept !== undefined) return kept.trim();
  const secret = randomBytes(24).toString('base64url');
  await writeFile(`${file}.new`, `${secret}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return secret;
}

export async function readIfThere(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
