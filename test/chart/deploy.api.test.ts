/** `make deploy` over an installation that is there: what an administrator chose stays, and a removal that failed is no end. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installChart } from '../../tools/deploy.ts';
import { type Installed, chartOnApiServer, namespace } from './installed.ts';

const there = ['-n', namespace, '-o', 'json'];
const image = 'podloom.local/podloom:0.1.0';
let installed: Installed;
let folder: string;

beforeAll(async () => {
  installed = await chartOnApiServer();
  folder = await mkdtemp(join(tmpdir(), 'podloom-values-'));
  // As the controllers would say, which are not there: everything that will ever be asked for runs.
  const observed = {
    observedGeneration: 1000,
    replicas: 2,
    updatedReplicas: 2,
    readyReplicas: 2,
    availableReplicas: 2,
  };
  await pretend('deployment/podloom-operator', observed);
  await pretend('daemonset/podloom-agent', { observedGeneration: 1000 });
});
afterAll(async () => {
  await installed?.stop();
  if (folder) await rm(folder, { recursive: true });
});

const pretend = (what: string, status: object) =>
  installed.kube(['patch', what, '-n', namespace, '--subresource=status', `-p=${JSON.stringify({ status })}`]);
const deploy = (values?: string) => installChart({ kubeconfig: installed.kubeconfig, image, values });
const helmJson = async (...args: string[]): Promise<Record<string, unknown>> => {
  const { code, stdout, stderr } = await installed.helm([...args, ...there]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Record<string, unknown>;
};

describe('make deploy', () => {
  it('takes values from a file, and keeps them when it is run without', async () => {
    const file = join(folder, 'values.yaml');
    await writeFile(file, 'operator: { reservedCidrs: [10.90.0.0/16] }\nwithdraw: { timeout: 7m }\n');
    await deploy(file);
    await deploy();
    expect(await helmJson('get', 'values', 'podloom')).toMatchObject({
      operator: { reservedCidrs: ['10.90.0.0/16'] },
      withdraw: { timeout: '7m' },
    });
  });

  it('carries on where uninstalling has failed', async () => {
    const failed = await installed.helm(['uninstall', 'podloom', '-n', namespace, '--timeout=1s']);
    expect(failed.code).not.toBe(0);
    // As withdrawing leaves it that was killed.
    await installed.kube(['scale', 'deployment/podloom-operator', '-n', namespace, '--replicas=0']);
    expect(await helmJson('status', 'podloom')).toMatchObject({ info: { status: 'uninstalling' } });
    await deploy();
    expect(await helmJson('status', 'podloom')).toMatchObject({ info: { status: 'deployed' } });
    expect(await helmJson('get', 'values', 'podloom')).toMatchObject({ withdraw: { timeout: '7m' } });
    expect(await installed.get('deployment/podloom-operator', '-n', namespace)).toMatchObject({
      spec: { replicas: 2 },
    });
  });
});
