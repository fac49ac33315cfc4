/** An operator that is killed in the middle of its work: the next one brings it to the same end. */
import { tenantKind } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { type LabsWorld, type RunningOperator, labsWorld, untilReady } from './world.ts';

/** Resolves when it is dead: in the moment in which it would send this write. */
async function killedAt(world: LabsWorld, write: number): Promise<{ readonly dead: Promise<void> }> {
  const dead = Promise.withResolvers<void>();
  let one: RunningOperator | undefined;
  let writes = 0;
  one = await world.operator([`--lease-name=first-${world.id}`], (_, plural) => {
    if (plural === 'leases' || plural === 'events') return;
    writes += 1;
    if (writes === write) void one?.kill().then(dead.resolve, dead.reject);
  });
  return { dead: dead.promise };
}

const points = [1, 2, 3, 5, 7, 9, 11, 12, 13, 14];

const everything = ({ driveNamespace, id }: LabsWorld): string[] => {
  const john = `john-${id}`;
  return [
    `ClusterRole crownlabs-manage-tenant-${john}`,
    `ClusterRoleBinding crownlabs-manage-tenant-${john}`,
    `Job ${driveNamespace}/${john}-drive-provision`,
    `LimitRange sandbox-${john}/sandbox-limit-range`,
    `Namespace sandbox-${john}`,
    `Namespace tenant-${john}`,
    `NetworkPolicy tenant-${john}/crownlabs-allow-trusted-ingress-traffic`,
    `NetworkPolicy tenant-${john}/crownlabs-deny-ingress-traffic`,
    `PersistentVolumeClaim ${driveNamespace}/${john}-drive`,
    `ResourceQuota sandbox-${john}/sandbox-resource-quota`,
    `ResourceQuota tenant-${john}/crownlabs-resource-quota`,
    `RoleBinding sandbox-${john}/sandbox-editor`,
    `RoleBinding tenant-${john}/crownlabs-manage-instances`,
  ];
};

describe('an operator that is killed', () => {
  it.each(points)('at write %i of the creation of a Tenant leaves it to the next', async (write) => {
    const world = await labsWorld();
    const john = `john-${world.id}`;
    const { dead } = await killedAt(world, write);
    await world.tenant(john, { createSandbox: true });
    await dead;
    await world.operator();
    await untilReady(world, john);
    expect(await world.objects()).toEqual(everything(world));
  });

  it.each(points)('at write %i of the deletion of a Tenant leaves nothing behind', async (write) => {
    const world = await labsWorld();
    const john = `john-${world.id}`;
    const maker = await world.operator();
    await world.tenant(john, { createSandbox: true });
    await untilReady(world, john);
    await maker.stop();
    await world.client.delete(tenantKind.resource, john);
    const { dead } = await killedAt(world, write);
    await dead;
    await world.operator();
    await eventually(async () => expect(await world.getTenant(john)).toBeUndefined());
    expect(await world.objects()).toEqual([`PersistentVolumeClaim ${world.driveNamespace}/${john}-drive`]);
  });
});
