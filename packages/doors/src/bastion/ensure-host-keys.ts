/**
 * Makes the bastion's host keys where there are none. Whoever connected once remembers them, so a Secret that exists stays as it is: made by hand, by an
 * earlier installation, or by us.
 */
import { type Client, type Log, isAlreadyExists, secrets } from '@podloom/kube';
import { makeHostKeys } from './openssh-key.ts';
import type { HostKeySettings } from './settings.ts';

interface Tools {
  readonly client: Client;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export async function ensureHostKeys(
  { namespace, sshKeysSecret: name }: HostKeySettings,
  { client, log, signal }: Tools,
): Promise<void> {
  const metadata = { name, namespace, labels: { 'app.kubernetes.io/part-of': 'podloom' } };
  try {
    await client.create(secrets, { metadata, type: 'Opaque', stringData: makeHostKeys() }, { signal });
    log.info({ secret: name, namespace }, 'Made host keys for the bastion');
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    log.info({ secret: name, namespace }, 'The bastion keeps its host keys');
  }
}
