/**
 * The image of the SSH bastion: Debian's sshd with the configuration that it has here, and nothing that could be run in it. It works without root, without
 * capabilities and on a root file system that cannot be written.
 */
import { debianRoot, sharedLibrariesIn } from '@podloom/local';
import { ensureOciArchive, type ImageArchive, type ImageEntry } from '@podloom/oci';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The one that people come as. Numeric, because Kubernetes checks that it is not root. */
const user = '1000:1000';

/** For whoever is let in there is a way on to port 22 of an instance, and nothing else: no shell, no terminal, no other port, no way back. */
const sshdConfig = `Port 2222
HostKey /host-keys/ssh_host_key_rsa
HostKey /host-keys/ssh_host_key_ecdsa
HostKey /host-keys/ssh_host_key_ed25519
PidFile none
UsePAM no
# The folder of the keys is shared with the container that writes them, so it is not this user's.
StrictModes no
AuthorizedKeysFile /auth-keys-vol/authorized_keys
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowUsers bastion
AllowTcpForwarding local
PermitOpen *:22
PermitListen none
AllowAgentForwarding no
AllowStreamLocalForwarding no
GatewayPorts no
X11Forwarding no
PermitTunnel no
PermitTTY no
PermitUserEnvironment no
PermitUserRC no
ForceCommand /usr/sbin/nologin
ClientAliveInterval 60
ClientAliveCountMax 3
LoginGraceTime 30
MaxAuthTries 10
MaxStartups 50:30:200
`;

export async function bastionImage(options: {
  readonly out: string;
  readonly name: string;
}): Promise<ImageArchive & { readonly built: boolean }> {
  const root = await debianRoot(['openssh-server', 'login']);
  const programs = ['usr/sbin/sshd', 'usr/sbin/nologin', ...sessionPrograms(root)];
  const files = programs.map((path) => ({ path, file: join(root, path), mode: 0o755 }));
  const accounts: ImageEntry[] = [
    { path: 'etc/passwd', text: 'root:x:0:0::/:/usr/sbin/nologin\nbastion:x:1000:1000::/:/usr/sbin/nologin\n' },
    { path: 'etc/group', text: 'root:x:0:\nbastion:x:1000:\n' },
    { path: 'etc/nsswitch.conf', text: 'passwd: files\ngroup: files\nhosts: files dns\n' },
    { path: 'etc/ssh/sshd_config', text: sshdConfig },
  ];
  return ensureOciArchive({
    ...options,
    layers: [[...files, ...accounts, ...sharedLibrariesIn(root, ...files.map(({ file }) => file))]],
    config: { entrypoint: ['/usr/sbin/sshd', '-D', '-e', '-f', '/etc/ssh/sshd_config'], user, workingDir: '/' },
    annotations: { 'org.opencontainers.image.title': 'podloom-bastion' },
  });
}

/** Since OpenSSH 9.8 a connection is served by programs of their own. */
function sessionPrograms(root: string): string[] {
  const folder = 'usr/lib/openssh';
  if (!existsSync(join(root, folder))) return [];
  const names = readdirSync(join(root, folder)).filter((name) => name.startsWith('sshd-'));
  return names.map((name) => `${folder}/${name}`);
}
