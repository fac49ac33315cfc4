/** The operator with the rights that the chart gives it, and no others: it makes, changes and removes everything that it writes. */
import { sharedVolumeKind, tenantKind, workspaceKind } from '@podloom/api';
import { jobs } from '@podloom/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Installed, chart, chartOnApiServer, namespace } from '../chart/installed.ts';
import { eventually } from '../setup/eventually.ts';
import { labsWorld, untilReady } from './world.ts';

let installed: Installed;
beforeAll(async () => {
  installed = await chartOnApiServer();
  const selector = '--set=labs.operator.flags.target-label=crownlabs.polito.it/operator-selector=local';
  const sets = ['--set=labs.tenants.enabled=true', '--set=network.enabled=false', selector];
  const { code, stderr } = await installed.helm([
    'upgrade',
    'podloom',
    chart,
    '-n',
    namespace,
    '--reuse-values',
    ...sets,
  ]);
  if (code !== 0) throw new Error(stderr);
  await installed.kube(['wait', '--for=condition=Established', '--timeout=300s', 'crd', '--all']);
});
afterAll(() => installed?.stop());

it('does all its work, and there is no agent', async () => {
  const world = await labsWorld({
    kubeconfig: installed.kubeconfig,
    user: `system:serviceaccount:${namespace}:podloom-labs-operator`,
    namespace,
  });
  const [john, tea] = [`john-${world.id}`, `tea-${world.id}`];
  await world.operator(['--base-workspaces=']);
  await world.workspace(tea);
  // Policies know a kind a moment after it is served.
  await eventually(() =>
    world.tenant(john, {
      createSandbox: true,
      workspaces: [{ name: tea, role: 'user' }],
      personalWorkspace: { cpu: 1, memory: '1Gi', instances: 1 },
    }),
  );
  await untilReady(world, john);
  await eventually(async () => expect((await world.getWorkspace(tea))?.status?.ready).toBe(true));
  const course = { namespace: `workspace-${tea}` };
  await world.client.create(sharedVolumeKind.resource, {
    metadata: { name: 'lemon', ...course },
    spec: { prettyName: 'Lemon', size: '1Gi' },
  });
  await eventually(async () => {
    const { status } = await world.client.get(sharedVolumeKind.resource, 'lemon', course);
    expect(status?.phase).toBe('Pending');
    // It goes without us, and what it has goes with its namespace.
    await world.client.get(jobs, 'shvol-lemon-provision', course);
  });
  await world.client.delete(sharedVolumeKind.resource, 'lemon', course);
  await world.tenant(john, { createSandbox: false });
  await world.client.delete(workspaceKind.resource, tea);
  await eventually(async () => expect(await world.getWorkspace(tea)).toBeUndefined());
  await world.client.delete(tenantKind.resource, john);
  await eventually(async () => expect(await world.getTenant(john)).toBeUndefined());
  expect(await world.objects()).toEqual([`PersistentVolumeClaim ${world.driveNamespace}/${john}-drive`]);
  expect(await installed.kube(['get', 'deployments,daemonsets', '-n', namespace, '-o', 'name'])).toBe(
    'deployment.apps/podloom-labs-operator\n',
  );
});
