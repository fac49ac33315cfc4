/** Where the container runtime listens: as set, or where containerd and CRI-O put their sockets. */
import { Unavailable } from '@podloom/api';
import { connectCri } from './client.ts';

const usual = [
  '/run/containerd/containerd.sock',
  '/run/k3s/containerd/containerd.sock',
  '/run/crio/crio.sock',
  '/var/run/crio/crio.sock',
];

/** The first that answers: a socket may be left behind, or be of a containerd without CRI that only builds images. */
export async function findCriSocket(setting: string, candidates: readonly string[] = usual): Promise<string> {
  if (setting !== 'auto') return setting.replace(/^unix:\/\//, '');
  const tried: string[] = [];
  for (const path of candidates) {
    const cri = connectCri(path);
    try {
      await cri.version();
      return path;
    } catch (error) {
      tried.push(`${path} (${(error as Error).message})`);
    } finally {
      cri.close();
    }
  }
  throw new Unavailable(
    'CRI_SOCKET',
    `No container runtime answers: ${tried.join(', ')}; name its socket with --cri-socket, and mount it if the agent runs as a pod`,
  );
}
