/** What needs a kubelet: the output and the exit code of a command in a pod, and the pod's log. */
import { randomUUID } from 'node:crypto';
import { createClient, loadConfig, pods } from '@podloom/kube';
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest';

async function runningPod() {
  const client = createClient(await loadConfig({ path: inject('kubeconfig') }));
  const name = `exec-${randomUUID().slice(0, 8)}`;
  await client.create(pods, {
    metadata: { name },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'main',
          image: inject('toolsImage'),
          imagePullPolicy: 'Never',
          command: ['sh', '-c', 'echo "añ→𝄞"; echo ready; exec sleep 600'],
        },
      ],
    },
  });
  onTestFinished(async () => {
    await client.delete(pods, name, { gracePeriodSeconds: 0 });
    await client.close();
  });
  const isRunning = async () => expect((await client.get(pods, name)).status?.phase).toBe('Running');
  await vi.waitFor(isRunning, { timeout: 300_000, interval: 200 });
  return { client, name };
}

/** The image of the pod is on the nodes of a private cluster only. */
describe.skipIf(inject('clusterName') === '')('a pod of the private cluster', () => {
  it('runs a command with input, and tells its outputs apart', async () => {
    const { client, name } = await runningPod();
    const command = ['sh', '-c', 'tr a-z A-Z; echo "$0" >&2; exit 3', 'it is $HOME'];
    const result = await client.exec(name, { command, stdin: 'hello' });
    expect(result).toEqual({ stdout: 'HELLO', stderr: 'it is $HOME\n', exitCode: 3 });
  });

  it('fails plainly for a program that is not there', async () => {
    const { client, name } = await runningPod();
    await expect(client.exec(name, { command: ['/no/such/program'] })).rejects.toThrow('/no/such/program');
  });

  it('reads and follows the log', async () => {
    const { client, name } = await runningPod();
    let seen = '';
    for await (const text of client.logs(name, { follow: true })) {
      seen += text;
      if (seen.includes('ready\n')) break;
    }
    expect(seen).toBe('añ→𝄞\nready\n');
  });
});
