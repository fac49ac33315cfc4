/** Manifests of the labs' kinds that are right, so that a test shows only what it changes; `undefined` takes a field away. */
import type { Manifest } from './server.ts';

type Fields = Readonly<Record<string, unknown>>;

const v1 = 'crownlabs.polito.it/v1alpha1';
const v2 = 'crownlabs.polito.it/v1alpha2';
const named = (apiVersion: string, kind: string, spec: Fields, name = 'sample'): Manifest => ({
  apiVersion,
  kind,
  metadata: { name },
  spec: written(spec),
});
const written = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

export const quota = (fields: Fields = {}): Fields => written({ cpu: 8, memory: '16Gi', instances: 2, ...fields });

export const workspace = (fields: Fields, name?: string): Manifest =>
  named(v1, 'Workspace', { prettyName: 'Tea course', quota: quota(), ...fields }, name);

export const tenant = (fields: Fields, name = 'mary.major'): Manifest =>
  named(v2, 'Tenant', { firstName: 'Mary', lastName: 'Major', email: 'mary@example.com', ...fields }, name);

export const environment = (fields: Fields = {}): Fields =>
  written({
    name: 'green',
    image: 'registry.example.com/tea/green:1.0',
    environmentType: 'VirtualMachine',
    resources: resources(),
    ...fields,
  });
export const resources = (fields: Fields = {}): Fields =>
  written({ cpu: 2, memory: '2Gi', reservedCPUPercentage: 50, ...fields });

export const templateWith = (fields: Fields, name?: string): Manifest =>
  named(
    v2,
    'Template',
    { prettyName: 'Green tea', description: 'How to brew it', environmentList: [environment()], ...fields },
    name,
  );
export const template = (...environments: Fields[]): Manifest =>
  templateWith({ environmentList: environments.map(environment) });

export const instance = (fields: Fields, name?: string): Manifest =>
  named(
    v2,
    'Instance',
    {
      'template.crownlabs.polito.it/TemplateRef': { name: 'green-tea', namespace: 'workspace-tea' },
      'tenant.crownlabs.polito.it/TenantRef': { name: 'mary.major' },
      ...fields,
    },
    name,
  );
export const exposing = (...ports: Fields[]): Manifest => instance({ publicExposure: { ports } });

export const snapshot = (fields: Fields, name?: string): Manifest =>
  named(v2, 'InstanceSnapshot', { instanceRef: { name: 'green-tea-1' }, imageName: 'green-tea', ...fields }, name);
export const sharedVolume = (fields: Fields): Manifest =>
  named(v2, 'SharedVolume', { prettyName: 'Lemon', size: '1Gi', ...fields });
export const imageList = (fields: Fields): Manifest =>
  named(v1, 'ImageList', { registryName: 'registry.example.com', images: [], ...fields });
