/** What an administrator can set of the bastion's two programs: the one that writes the keys, and the one that makes host keys once. */
import { integer, path, settings, text } from '@podloom/kube';

export const bastionSettings = settings({
  authorizedKeysPath: path()
    .env('AUTHORIZED_KEYS_PATH')
    .default('/auth-keys-vol/authorized_keys')
    .describe("File with everybody's keys. sshd reads it at each login, so the folder is shared with its container."),
  port: integer({ min: 0, max: 65_535 })
    .default('0')
    .describe('Port for /healthz, /readyz and /metrics. 0 serves none.'),
});
export type BastionSettings = ReturnType<typeof bastionSettings.read>;

export const hostKeySettings = settings({
  namespace: text()
    .env('POD_NAMESPACE')
    .default('podloom-system')
    .describe('Namespace of the Secret. Set by the downward API.'),
  sshKeysSecret: text()
    .default('crownlabs-bastion-operator-ssh-keys')
    .describe('Secret that gets the host keys where it does not exist. One that exists is never changed.'),
});
export type HostKeySettings = ReturnType<typeof hostKeySettings.read>;
