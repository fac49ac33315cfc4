/** Puts a file in the place of another at once: who reads it sees the old one or the new one, and never a part. */
import { open, readFile, rename } from 'node:fs/promises';
import { Unavailable } from '@podloom/api';

/** sshd reads it as another user than we are; it holds nothing secret. */
const READABLE = 0o644;

/** Says whether anything had to be written. */
export async function replaceFile(path: string, text: string): Promise<boolean> {
  try {
    if ((await textOf(path)) === text) return false;
    const beside = `${path}.new`;
    const file = await open(beside, 'w', READABLE);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
    return true;
  } catch (cause) {
    throw new Unavailable('KEY_FILE', `${path} cannot be written: ${(cause as Error).message}`, { cause });
  }
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
