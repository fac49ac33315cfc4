/** The two pods that a PodConfig may ask for: made, kept, replaced and taken away, and what the server or somebody else has against it. */
import { deployments } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { jumpingClock } from './clock.ts';
import { keepDeployments } from './keep.ts';
import { quota, removeQuota } from './quota.ts';
import { world } from './world.ts';

describe('the sample Deployment', () => {
  it('is made unprivileged, belongs to the PodConfig, is waited for, and goes when it is no longer asked for', async () => {
    const w = await world();
    const { client, namespace } = w;
    await w.operator({ settings: { sampleImage: 'example/sample:1' } });
    await w.agent();
    const links = [{ name: 'pc0', master: 'br0', cidr: '10.82.0.0/24' }];
    await w.config('c', links, { sampleDeployment: { create: true, name: 'demo' } });
    await eventually(async () => {
      const { metadata, spec } = await client.get(deployments, 'demo', { namespace });
      expect(metadata).toMatchObject({
        labels: { podconfig: 'c' },
        ownerReferences: [{ kind: 'PodConfig', name: 'c' }],
      });
      expect(spec?.replicas).toBe(2);
      expect(spec?.template.spec).toMatchObject({
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [{ image: 'example/sample:1', securityContext: { capabilities: { drop: ['ALL'] } } }],
      });
    });
    await w.pod('demo-1', { podconfig: 'c' });
    await eventually(async () => {
      expect((await w.getConfig('c'))?.status).toMatchObject({
        phase: 'configuring',
        conditions: [{ reason: 'WaitingForPods' }],
      });
    });
    await w.pod('demo-2', { podconfig: 'c' });
    await eventually(async () => expect((await w.getConfig('c'))?.status?.phase).toBe('configured'));
    await w.config('c', links, { sampleDeployment: { create: false, name: 'demo' } });
    await eventually(async () => expect((await client.list(deployments, { namespace })).items).toEqual([]));
  });

  it('that the server will not have is shown, and made when it will', async () => {
    const w = await world();
    const { client, namespace } = w;
    await quota(client, namespace, 'deployments.apps');
    const labels = { app: 'other' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'x', image: 'x' }] } };
    const other = { metadata: { name: 'other', namespace }, spec: { selector: { matchLabels: labels }, template } };
    await eventually(async () => {
      await expect(client.create(deployments, other, { namespace, dryRun: true })).rejects.toThrow('exceeded quota');
    });
    const clock = jumpingClock();
    await w.operator({ clock });
    await w.config('c', [], { sampleDeployment: { create: true, name: 'demo' } });
    await eventually(async () => {
      expect((await w.getConfig('c'))?.status?.conditions?.[0]).toMatchObject({
        status: 'False',
        reason: 'SampleRefused',
        message: expect.stringContaining('exceeded quota: none'),
      });
    });
    await removeQuota(client, namespace);
    await eventually(async () => void (await client.create(deployments, other, { namespace, dryRun: true })));
    clock.jump(30_000);
    await eventually(async () => void (await client.get(deployments, 'demo', { namespace })));
    await eventually(async () => {
      expect((await w.getConfig('c'))?.status?.conditions?.[0]).toMatchObject({ reason: 'WaitingForPods' });
    });
  });

  it('leaves a Deployment alone that is not its own', async () => {
    const w = await world();
    const { client, namespace } = w;
    const labels = { app: 'foreign' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'x', image: 'x' }] } };
    const foreign = { metadata: { name: 'demo', namespace }, spec: { selector: { matchLabels: labels }, template } };
    const { metadata } = await client.create(deployments, foreign, { namespace });
    const clock = jumpingClock();
    await w.operator({ clock });
    await w.config('c', [], { sampleDeployment: { create: true, name: 'demo' } });
    await eventually(async () => {
      expect((await w.getConfig('c'))?.status?.conditions?.[0]).toMatchObject({ reason: 'SampleNameTaken' });
    });
    expect((await client.get(deployments, 'demo', { namespace })).metadata.resourceVersion).toBe(
      metadata.resourceVersion,
    );
    await client.delete(deployments, 'demo', { namespace });
    clock.jump(30_000);
    await eventually(async () => {
      const { metadata: mine } = await client.get(deployments, 'demo', { namespace });
      expect(mine.ownerReferences).toMatchObject([{ kind: 'PodConfig', name: 'c' }]);
    });
  });

  it('that the server does not let go is shown, with what of the object was carried out, and deleted when it does', async () => {
    const w = await world();
    const { client, namespace } = w;
    const clock = jumpingClock();
    await w.operator({ clock });
    await w.agent();
    await w.config('c', [], { sampleDeployment: { create: true, name: 'demo' } });
    await eventually(async () => void (await client.get(deployments, 'demo', { namespace })));
    const letGo = await keepDeployments(client, namespace);
    await w.config('c', [{ name: 'pc0', master: 'pcbr0', cidr: '10.0.0.0/24' }], {});
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => {
      expect((await w.getConfig('c'))?.status).toMatchObject({
        podConfigurations: [{ podName: 'a' }],
        conditions: [{ status: 'False', reason: 'SampleRefused', message: expect.stringContaining('stays here') }],
      });
    });
    await letGo();
    await eventually(async () => {
      clock.jump(30_000);
      expect((await client.list(deployments, { namespace })).items).toEqual([]);
    });
    await eventually(async () => expect((await w.getConfig('c'))?.status?.phase).toBe('configured'));
  });
});
