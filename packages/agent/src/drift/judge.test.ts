import type { PodNetwork, PodNetworkStatus } from '@podloom/api';
import { manualClock, objectKey } from '@podloom/kube';
import type { Step } from '@podloom/network';
import { describe, expect, it } from 'vitest';
import { podInterface, podSpec } from '../testing/specs.ts';
import { type DriftGuard, contestedMs, driftGuard, driftIn, windowMs } from './judge.ts';

const key = objectKey('pod', 'here');
const network: PodNetwork = {
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'PodNetwork',
  metadata: { name: 'pod', namespace: 'here', generation: 2 },
  spec: podSpec('uid', [podInterface(2)]),
};
const [{ key: interfaceKey } = { key: '' }] = network.spec.interfaces;
const step: Step = { do: 'setLink', in: 'pod', owner: `interface ${interfaceKey}`, link: 'pc07', set: { up: true } };
const attached: PodNetworkStatus = { observedGeneration: 2, interfaces: [{ key: interfaceKey, state: 'Attached' }] };
const always: DriftGuard = {
  policy: 'repair',
  mayRepair: () => true,
  contestedMs: () => 0,
  forget: () => undefined,
};
const mtu = (link: string): Step => ({
  do: 'setLink',
  in: 'node',
  owner: `bridge ${link}`,
  link,
  set: { mtuBytes: 1400 },
});
const judge = (old: PodNetworkStatus | undefined, guard = always, steps: Step[] = [step]) =>
  driftIn({ key, network, old, steps, guard });

const says = (reason: string): PodNetworkStatus => ({
  ...attached,
  conditions: [{ type: 'Ready', status: 'False', reason, message: '', lastTransitionTime: '' }],
});

const unready = (reason: string, more: PodNetworkStatus = {}): PodNetworkStatus => ({ ...says(reason), ...more });
const up = (link: string): Step => ({ do: 'setLink', in: 'node', owner: `bridge ${link}`, link, set: { up: true } });

describe('driftIn', () => {
  it('is steps for what was attached', () => {
    expect(judge(attached)).toMatchObject({ steps: [step], hold: false });
    expect(judge(attached)?.message).toContain('ip link set pc07 up');
  });

  it.each<[string, PodNetworkStatus | undefined]>([
    ['was never attached', undefined],
    ['is declared otherwise since', { ...attached, observedGeneration: 1 }],
    ['failed before', { ...attached, interfaces: [{ key: interfaceKey, state: 'Failed', reason: 'NameTaken' }] }],
  ])('is none where the interface %s', (_, old) => {
    expect(judge(old)).toBeUndefined();
  });

  it('is none where a bridge has another MTU, as it has by itself after its ports', () => {
    const ready: PodNetworkStatus = {
      ...attached,
      conditions: [{ type: 'Ready', status: 'True', reason: 'Attached', message: '', lastTransitionTime: '' }],
    };
    expect(judge(ready, always, [mtu('pcbr0')])).toBeUndefined();
    expect(judge(ready, always, [mtu('hpc07')])).toMatchObject({ hold: false });
    const lowering: Step = { ...mtu('pcbr0'), owner: `interface ${interfaceKey}` };
    expect(judge(ready, always, [lowering])).toBeUndefined();
    expect(judge(ready, always, [step, lowering])).toMatchObject({ steps: [step, lowering] });
  });

  describe('of what is of no interface, where the pod is not ready for another reason', () => {
    const other = podInterface(3, { key: 'other', bridge: { ...podInterface(3).bridge!, device: 'pcbr1' } });
    const spec = podSpec('uid', [podInterface(2), other], {
      waiting: [{ source: other.source, reason: 'PoolExhausted', message: '' }],
    });
    const failed = { key: 'other', state: 'Failed' as const, reason: 'NameTaken' };
    const judgeHere = (old: PodNetworkStatus, steps: Step[]) =>
      driftIn({ key, network: { ...network, spec }, old, steps, guard: { ...always, policy: 'report' } });
    const rule: Step = {
      do: 'addRule',
      in: 'node',
      owner: 'bridge pcbr0',
      rule: { family: 4, priority: 4900, table: 7, protocol: 149, from: '192.168.100.1/32' },
    };
    const onPrimary: Step = { do: 'setLink', in: 'pod', owner: 'primary', link: 'eth0', set: { mtuBytes: 1400 } };
    const stray: Step = { do: 'deleteLink', in: 'pod', owner: 'nobody', link: 'stray', index: 9 };
    const interfaces = [...attached.interfaces!, failed];

    it.each<[string, PodNetworkStatus, Step]>([
      ['the bridge of an attached interface, while another is waited for', unready('PoolExhausted'), up('pcbr0')],
      ['the bridge of an attached interface, where another failed', unready('NameTaken', { interfaces }), up('pcbr0')],
      ['a rule of such a bridge', unready('PoolExhausted'), rule],
      ['the primary link', unready('PoolExhausted', { primary: { applied: { mtuBytes: 1400 } } }), onPrimary],
      [
        'the primary link that is held already',
        unready('NameTaken', { interfaces, primary: { state: 'Failed', reason: 'Drift' } }),
        onPrimary,
      ],
    ])('is %s', (_, old, drifted) => {
      expect(judgeHere(old, [drifted])).toMatchObject({ steps: [drifted], hold: true });
    });

    it.each<[string, PodNetworkStatus, Step]>([
      ['the bridge of one that failed', unready('NameTaken', { interfaces }), up('pcbr1')],
      ['a bridge that could not be mended', unready('GatewayTaken'), up('pcbr0')],
      ['a primary link that could not be changed', unready('PoolExhausted', { primary: {} }), onPrimary],
      ['a link that could not be removed', unready('PoolExhausted'), stray],
    ])('is not %s', (_, old, step) => {
      expect(judgeHere(old, [step])).toBeUndefined();
    });
  });

  it('is none without steps', () => {
    expect(judge(attached, always, [])).toBeUndefined();
  });

  it('stays reported, and is not repaired, where the policy says so', () => {
    const held = { ...attached, interfaces: [{ key: interfaceKey, state: 'Failed' as const, reason: 'Drift' }] };
    for (const old of [attached, held]) {
      expect(judge(old, { ...always, policy: 'report' })).toMatchObject({
        hold: true,
        reason: 'Drift',
      });
    }
  });

  it('is left alone for a while when someone changes it again and again', async () => {
    const clock = manualClock();
    const guard = driftGuard('repair', clock);
    const repaired = Array.from({ length: 12 }, () => judge(attached, guard)?.hold);
    expect(repaired.filter((hold) => hold === false)).toHaveLength(10);
    expect(judge(attached, guard)).toMatchObject({ reason: 'Contested', retryAfterMs: windowMs });
    await clock.advance(windowMs);
    expect(judge(attached, guard)).toMatchObject({ hold: false });
  });

  it('stays said for as long also where the link is as it should be by itself', async () => {
    const clock = manualClock();
    const guard = driftGuard('repair', clock);
    const leftMs = (old: PodNetworkStatus, steps: Step[] = []) => contestedMs({ key, network, old, steps, guard });
    for (let times = 0; times < 11; times += 1) judge(attached, guard);
    await clock.advance(windowMs - 1_000);
    expect(leftMs(says('Contested'))).toBe(1_000);
    expect([leftMs(says('Attached')), leftMs(says('Contested'), [step])]).toEqual([0, 0]);
    expect(leftMs({ ...says('Contested'), observedGeneration: 1 })).toBe(0);
    await clock.advance(1_000);
    expect(leftMs(says('Contested'))).toBe(0);
  });
});
