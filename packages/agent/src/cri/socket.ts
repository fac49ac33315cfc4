/** Where the container runtime listens: as set, or where containerd and CRI-O put their sockets. */
import { statSync } from 'node:fs';
import { Unavailable } from '@podloom/api';

const usual = [
  '/run/containerd/containerd.sock',
  '/run/k3s/containerd/containerd.sock',
  '/run/crio/crio.sock',
  '/var/run/crio/crio.sock',
];

export function findCriSocket(setting: string, candidates: readonly string[] = usual): string {
  if (setting !== 'auto') return setting.replace(/^unix:\/\//, '');
  const found = candidates.find((path) => statSync(path, { throwIfNoEntry: false })?.isSocket());
  if (found !== undefined) return found;
  throw new Unavailable(
    'CRI_SOCKET',
    `No container runtime socket at ${candidates.join(', ')}; name it with --cri-socket, and mount it if the agent runs as a pod`,
  );
}
