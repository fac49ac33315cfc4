/** For tests: an interface that a plugin is to make, with good defaults. */
import type { Attachment } from '../cni/attachment.ts';

export const configText = (plugins: readonly object[], more: object = {}): string =>
  JSON.stringify({ cniVersion: '1.0.0', name: 'data', plugins, ...more });

export const attachment = (more: Partial<Attachment> = {}): Attachment => ({
  sandboxId: 'b0c',
  interfaceName: 'net1',
  key: 'NetworkAttachmentDefinition/data/0',
  pod: { namespace: 'here', name: 'pod', uid: 'pod-uid' },
  source: { apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', name: 'data' },
  config: configText([{ type: 'bridge' }]),
  args: [],
  capabilities: {},
  netns: { pid: 1, inode: 1 },
  ...more,
});
