import { type SharedVolume, type Template, sharedVolumeKind, templateKind } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { mountedBy, sharedVolumeObjects, sharedVolumeState } from './volume.ts';

const volume = (size: string): SharedVolume =>
  sharedVolumeKind.parse({
    apiVersion: sharedVolumeKind.apiVersion,
    kind: 'SharedVolume',
    metadata: { name: 'lemon', namespace: 'course' },
    spec: { prettyName: 'Lemon', size },
  });
const claim = (size: string, phase = 'Bound', labels = {}) => ({
  metadata: { labels },
  spec: { resources: { requests: { storage: size } }, storageClassName: 'old', volumeName: 'pv' },
  status: { phase },
});
const job = (type: string) => ({ status: { conditions: [{ type, status: 'True' }] } });
const completed = { 'crownlabs.polito.it/volume-provisioning': 'completed' };
const options = { storageClass: 'nfs', targetLabels: {}, provisionImage: 'busybox' };

const template = (name: string, namespace: string, sharedVolume: object): Template =>
  templateKind.parse({
    apiVersion: templateKind.apiVersion,
    kind: 'Template',
    metadata: { name, namespace },
    spec: {
      prettyName: name,
      description: name,
      environmentList: [
        {
          name: 'main',
          image: 'example.org/tea:1',
          environmentType: 'Container',
          resources: { cpu: 1, reservedCPUPercentage: 10, memory: '1Gi' },
          sharedVolumeMounts: [{ sharedVolume, mountPath: '/lemon', readOnly: true }],
        },
      ],
    },
  });

describe('a SharedVolume', () => {
  it.each([
    ['Pending', 'without a claim', {}],
    ['Pending', 'until its claim is bound', { claim: claim('1Gi', 'Pending') }],
    ['Provisioning', 'while the Job runs', { claim: claim('1Gi') }],
    ['Ready', 'when the Job is done', { claim: claim('1Gi'), job: job('Complete') }],
    ['Ready', 'also when the Job has gone', { claim: claim('1Gi', 'Bound', completed) }],
    ['Error', 'when the Job failed', { claim: claim('1Gi'), job: job('Failed') }],
    ['Error', 'when it should shrink', { claim: claim('2Gi', 'Bound', completed) }],
  ])('is %s %s', (phase, _, seen) => {
    expect(sharedVolumeState(volume('1Gi'), seen).phase).toBe(phase);
  });

  it('keeps the class of its claim, and its size where a smaller one is asked for', () => {
    const [kept] = sharedVolumeObjects(volume('1Gi'), { claim: claim('2Gi') }, options);
    expect(kept?.['spec']).toMatchObject({
      storageClassName: 'old',
      resources: { requests: { storage: '2Gi' } },
    });
    const [made] = sharedVolumeObjects(volume('1Gi'), {}, options);
    expect(made?.['spec']).toMatchObject({ storageClassName: 'nfs', resources: { requests: { storage: '1Gi' } } });
  });

  it('is prepared once there is a claim', () => {
    expect(sharedVolumeObjects(volume('1Gi'), {}, options)).toHaveLength(1);
    expect(sharedVolumeObjects(volume('1Gi'), { claim: claim('1Gi', 'Pending') }, options)).toHaveLength(2);
    expect(sharedVolumeObjects(volume('1Gi'), { claim: claim('1Gi', 'Bound', completed) }, options)).toHaveLength(1);
  });

  it('is mounted by the Templates that name it, beside it or with its namespace', () => {
    const templates = [
      template('beside', 'course', { name: 'lemon' }),
      template('elsewhere', 'other', { name: 'lemon', namespace: 'course' }),
      template('namesake', 'other', { name: 'lemon' }),
      template('another', 'course', { name: 'orange' }),
    ];
    expect(mountedBy(volume('1Gi'), templates)).toEqual(['course/beside', 'other/elsewhere']);
  });
});
