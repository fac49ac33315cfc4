/** What stands at the other end of a bastion: a pod in which Debian's sshd serves port 22 without any privilege. For `make labs` and the tests. */
import { debianRoot, sharedLibrariesIn } from '@podloom/local';
import { ensureOciArchive, type ImageEntry } from '@podloom/oci';
import { join } from 'node:path';

export const instanceImage = 'podloom.local/ssh-instance:v1';

const config = `Port 22
HostKey /keys/host_key
PidFile none
UsePAM no
StrictModes no
AuthorizedKeysFile /keys/authorized_keys
PasswordAuthentication no
`;

export async function buildInstanceImage(out: string): Promise<{ readonly out: string }> {
  const root = await debianRoot(['openssh-server', 'busybox-static']);
  const [sshd, busybox] = [join(root, 'usr/sbin/sshd'), join(root, 'bin/busybox')];
  const entries: ImageEntry[] = [
    { path: 'usr/sbin/sshd', file: sshd, mode: 0o755 },
    { path: 'bin/busybox', file: busybox, mode: 0o755 },
    ...['sh', 'cat', 'hostname', 'id', 'ls'].map((name) => ({ path: `bin/${name}`, link: 'busybox' })),
    { path: 'etc/passwd', text: 'root:x:0:0::/:/bin/sh\ncrownlabs:x:1010:1010::/:/bin/sh\n' },
    { path: 'etc/group', text: 'root:x:0:\ncrownlabs:x:1010:\n' },
    { path: 'etc/ssh/sshd_config', text: config },
    ...sharedLibrariesIn(root, sshd),
  ];
  return ensureOciArchive({
    out,
    name: instanceImage,
    layers: [entries],
    config: {
      entrypoint: ['/usr/sbin/sshd', '-D', '-e', '-f', '/etc/ssh/sshd_config'],
      user: '1010:1010',
      workingDir: '/',
    },
  });
}

const amount = { cpu: '100m', memory: '64Mi' };

/** The pod, and a Secret with its host key and who may come in. */
export const instance = (name: string, hostKey: string, authorizedKeys: string): object[] => [
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    stringData: { host_key: hostKey, authorized_keys: authorizedKeys },
  },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      hostname: name,
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsUser: 1010, runAsGroup: 1010, fsGroup: 1010, runAsNonRoot: true },
      containers: [
        {
          name: 'sshd',
          image: instanceImage,
          ports: [{ name: 'ssh', containerPort: 22 }],
          // Where people have a quota, a pod says what it takes.
          resources: { requests: amount, limits: amount },
          readinessProbe: { tcpSocket: { port: 'ssh' }, periodSeconds: 1 },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: [{ name: 'keys', mountPath: '/keys', readOnly: true }],
        },
      ],
      volumes: [{ name: 'keys', secret: { secretName: name, defaultMode: 0o440 } }],
    },
  },
];
