/** Keys of the example's people, and `ssh` as each of them: all files are in a folder of the cluster's, which goes with it. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, run } from '../clients.ts';
import { patiently } from './patiently.ts';

/** Makes a key pair where there is none. */
export async function ensureKey(folder: string, person: string): Promise<{ publicKey: string; privateKey: string }> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, person);
  if (!existsSync(`${file}.pub`)) {
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', person, '-f', file], process.env);
  }
  return { publicKey: (await readFile(`${file}.pub`, 'utf8')).trim(), privateKey: await readFile(file, 'utf8') };
}

export interface Way {
  readonly folder: string;
  /** Of the bastion. */
  readonly address: string;
  readonly port: number;
  /** Address of the pod behind it. */
  readonly target: string;
}

/** What a person would write into ~/.ssh/config. Agents and files of whoever runs this are left out of it. Returns the path. */
export async function writeConfig({ folder, address, port, target }: Way, person: string): Promise<string> {
  const file = join(folder, `${person}.config`);
  const text = `Host bastion
  HostName ${address}
  Port ${port}
  User bastion
Host lab
  HostName ${target}
  User crownlabs
  ProxyJump bastion
Host *
  IdentityFile ${join(folder, person)}
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile ${join(folder, 'known_hosts')}
  StrictHostKeyChecking accept-new
  BatchMode yes
  ConnectTimeout 20
  LogLevel ERROR
`;
  await writeFile(file, text, { mode: 0o600 });
  return file;
}

const ssh = (config: string, ...args: string[]): Promise<string> => run('ssh', ['-F', config, ...args], process.env);

/** What the command prints in the pod. A key counts a moment after it was written. */
export const inLab = (config: string, command: string): Promise<string> =>
  patiently(async () => (await ssh(config, 'lab', command)).trim());

/** How somebody is refused. Whoever is let in is an error, and so is every other reason why not. */
export async function refused(config: string, who: string): Promise<string> {
  const answer = await ssh(config, 'lab', 'true').then(() => 'let in', messageOf);
  const reason = /Permission denied[^\n]*/.exec(answer)?.[0];
  if (reason === undefined) throw new Error(`The bastion was to refuse ${who}, and this came of it: ${answer}`);
  return reason;
}
