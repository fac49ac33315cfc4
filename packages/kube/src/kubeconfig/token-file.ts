/**
 * A bearer token in a file that someone else replaces before it expires, as the kubelet does for pods. It is read again after a
 * while, and at once when the server refuses what we have.
 */
import { readFile } from 'node:fs/promises';
import { Unavailable } from '@podloom/api';
import type { CredentialSource, Credentials } from './cluster.ts';

/** The kubelet replaces a token at 80 % of its life, at least two minutes before its end: reading this often is never late. */
const maxAgeMs = 30_000;

export function tokenFileCredentials(path: string, now: () => number = Date.now): CredentialSource {
  let cached: { readonly credentials: Credentials; readonly readAt: number } | undefined;
  return {
    async get() {
      if (cached && now() - cached.readAt < maxAgeMs) return cached.credentials;
      const token = (await readToken(path)).trim();
      cached = { credentials: { authorization: `Bearer ${token}` }, readAt: now() };
      return cached.credentials;
    },
    renew(refused) {
      if (cached?.credentials === refused) cached = undefined;
      return true;
    },
  };
}

async function readToken(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new Unavailable('TOKEN_FILE', `the token file ${path} cannot be read`, { cause });
  }
}
