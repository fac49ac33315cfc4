/** Small builders: a manifest that is right, so that a test shows only what it changes. */
import type { Manifest } from './server.ts';

type Fields = Readonly<Record<string, unknown>>;

const podnetwork = 'podnetwork.opdev.io/v1alpha1';
const named = (apiVersion: string, kind: string, spec: unknown): Manifest => ({
  apiVersion,
  kind,
  metadata: { name: 'sample' },
  spec,
});

export const podConfigWith = (spec: Fields): Manifest => named('podconfig.opdev.io/v1alpha1', 'PodConfig', spec);

/** A PodConfig with one attachment, changed by `fields`; `undefined` takes a field away. */
export const podConfig = (...attachments: Fields[]): Manifest =>
  podConfigWith({
    networkAttachments: attachments.map((fields) =>
      written(Object.assign({ name: 'pc0', linkType: 'veth', master: 'pcbr0', cidr: '192.168.100.0/24' }, fields)),
    ),
  });

export const podNetworkConfig = (spec: Fields): Manifest => named(podnetwork, 'PodNetworkConfig', spec);
export const bridge = (fields: Fields): Manifest => named(podnetwork, 'Bridge', { name: 'br-a', ...fields });
export const primaryNetwork = (fields: Fields): Manifest =>
  named(
    podnetwork,
    'PrimaryNetwork',
    written({ podSelector: { matchLabels: { app: 'cnf' } }, mtuBytes: 1400, ...fields }),
  );
export const additionalNetwork = (fields: Fields): Manifest =>
  named(podnetwork, 'AdditionalNetwork', written({ podSelector: {}, namePrefix: 'an', bridge: 'anbr', ...fields }));
export const networkGrant = (fields: Fields): Manifest =>
  named(podnetwork, 'NetworkGrant', { namespaces: { names: ['cnf-test'] }, ...fields });
export const network = (spec: Fields): Manifest => named('kaloom.com/v1', 'Network', spec);
export const definition = (fields: Fields): Manifest => ({
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: { name: 'sample' },
  ...fields,
});
export const withConfig = (config: string): Manifest => definition({ spec: { config } });

export const ipPool = (fields: Fields): Manifest =>
  named(podnetwork, 'IPPool', {
    network: 'pcbr0',
    cidr: '10.1.0.0/16',
    range: { first: '10.1.1.0', last: '10.1.1.255' },
    ...fields,
  });

export const podInterface = (fields: Fields): Fields =>
  written({
    key: 'podconfig.sample.pc0',
    namePrefix: 'pc0',
    source: { apiVersion: 'podconfig.opdev.io/v1alpha1', kind: 'PodConfig', name: 'sample' },
    ...fields,
  });
export const podNetwork = (fields: Fields): Manifest =>
  named(podnetwork, 'PodNetwork', { podUid: '5b1f', nodeName: 'node-a', interfaces: [podInterface({})], ...fields });

const written = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
