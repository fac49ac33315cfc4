/**
 * What manifests of CrownLabs look like, field by field, in both of its eras: "early" is of May 2025, "late" of August 2026. The words are ours, the
 * fields and the forms of their values are theirs.
 */
import {
  environment,
  instance,
  quota,
  resources,
  snapshot,
  sharedVolume,
  templateWith,
  tenant,
  workspace,
} from './labs-manifests.ts';
import type { Manifest } from './server.ts';

type Case = readonly [sentence: string, manifest: Manifest];

const labelled = (manifest: Manifest): Manifest => ({
  ...manifest,
  metadata: { ...manifest.metadata, labels: { 'crownlabs.polito.it/operator-selector': 'local' } },
});
const course = (name: string) => ({ 'workspace.crownlabs.polito.it/WorkspaceRef': { name } });
const small = resources({ memory: '2G', reservedCPUPercentage: 25 });

const workspaces: readonly Case[] = [
  [
    'early Workspace',
    labelled(workspace({ prettyName: 'Tea with milk', quota: { cpu: 8, memory: '15Gi', instances: 3 } }, 'tea')),
  ],
  [
    'early Workspace with a dash',
    labelled(workspace({ quota: { cpu: 6, memory: '20Gi', instances: 4 } }, 'hot-pepper')),
  ],
  [
    'late Workspace, its CPUs as text',
    labelled(workspace({ quota: { cpu: '8', memory: '15Gi', instances: 3 } }, 'standalone')),
  ],
];

const enrolments = [
  { name: 'tea', role: 'user' },
  { name: 'coffee', role: 'manager' },
];
const person = { firstName: 'John', lastName: 'Stiles', email: 'john.stiles@example.com' };
const publicKeys = ['type1 key1 comment1', 'type2 key2 comment3'];

const tenants: readonly Case[] = [
  ['early Tenant', labelled(tenant({ ...person, workspaces: enrolments, publicKeys }, 'john.stiles'))],
  [
    'late Tenant',
    labelled(
      tenant(
        { ...person, workspaces: [...enrolments, { name: 'standalone', role: 'manager' }], publicKeys },
        'john.stiles',
      ),
    ),
  ],
  ['Tenant that never logged in, as programs write it', tenant({ lastLogin: null, workspaces: [], publicKeys: [] })],
];

const machine = environment({
  name: 'green-tea-1',
  image: 'registry.example.com/tea/green:finest',
  guiEnabled: true,
  mountMyDriveVolume: false,
  persistent: false,
  resources: small,
});
const container = environment({
  name: 'dark-coffee-1',
  environmentType: 'Container',
  image: 'registry.example.com/coffee/dark:strongest',
  guiEnabled: false,
  persistent: true,
  mountMyDriveVolume: false,
  resources: resources({ cpu: 4, memory: '1G' }),
});
const editor = environment({
  name: 'editor-environment',
  environmentType: 'Standalone',
  mountMyDriveVolume: false,
  image: 'registry.example.com/standalone/editor-python:1.0.3',
  containerStartupOptions: { contentPath: '/config/workspace', startupArgs: ['--no-marketplace'] },
  resources: small,
  rewriteURL: true,
});
const mode = { mode: 'Standard' };
const month = { deleteAfterCreation: '30d', stopAfterInactivity: 'never', deleteAfterInactivity: 'never' };
const placeholder = environment({
  name: 'default',
  environmentType: 'Standalone',
  guiEnabled: true,
  image: 'YOUR_NAME_AT_A_REGISTRY/echotest',
  persistent: false,
  resources: resources({ cpu: 1, memory: '1000M', reservedCPUPercentage: 50 }),
  rewriteURL: false,
  ...mode,
});

const templates: readonly Case[] = [
  [
    'early machine with a desktop',
    templateWith({ environmentList: [machine], ...course('tea'), deleteAfter: '30d' }, 'green-tea'),
  ],
  [
    'early persistent container without a disk',
    templateWith({ environmentList: [container], ...course('coffee'), deleteAfter: '1h' }),
  ],
  [
    'early Standalone that is asked for /',
    templateWith({ environmentList: [{ ...editor, ...mode }], ...course('standalone'), deleteAfter: '30d' }),
  ],
  [
    'early persistent Standalone',
    templateWith({
      environmentList: [{ ...editor, ...mode, persistent: true, resources: { ...small, disk: '4G' } }],
      ...course('standalone'),
      deleteAfter: '30d',
    }),
  ],
  [
    'early Standalone that knows its path',
    templateWith({
      environmentList: [
        {
          ...editor,
          ...mode,
          name: 'notebook-environment',
          containerStartupOptions: { contentPath: '/home/crownlabs' },
        },
      ],
      deleteAfter: '30d',
    }),
  ],
  [
    'early example with a placeholder',
    templateWith({ environmentList: [placeholder], ...course('sid'), deleteAfter: 'never' }),
  ],
  [
    'Template between the eras',
    templateWith({
      environmentList: [machine],
      deleteAfter: '30d',
      inactivityTimeout: '24h',
      destroyAfterInactivity: '7d',
    }),
  ],
  [
    'late machine with a desktop',
    templateWith({ environmentList: [machine], ...course('tea'), cleanup: month }, 'green-tea'),
  ],
  [
    'late persistent container',
    templateWith({ environmentList: [container], ...course('coffee'), cleanup: { deleteAfterCreation: '1h' } }),
  ],
  [
    'late Standalone',
    templateWith({ environmentList: [editor], ...course('standalone'), cleanup: month, nodeSelector: {} }),
  ],
  [
    'late Template of several environments',
    templateWith({
      environmentList: [
        { ...machine, name: 'client', resources: { ...small, otherResources: { 'nvidia.com/gpu': 1 } } },
        environment({ name: 'server', environmentType: 'LocalVM', image: 'golden/debian-13', persistent: true }),
        environment({ name: 'cloud', environmentType: 'CloudVM', image: 'https://example.com/debian-13.qcow2' }),
      ],
      cleanup: { stopAfterInactivity: '12h', deleteAfterInactivity: '3d' },
      allowPublicExposure: true,
      nodeSelector: { 'example.com/gpu': 'yes' },
    }),
  ],
];

const refs = (template: string, namespace: string) => ({
  'template.crownlabs.polito.it/TemplateRef': { name: template, namespace },
  'tenant.crownlabs.polito.it/TenantRef': { name: 'john.stiles' },
});

const others: readonly Case[] = [
  ['early and late Instance', instance(refs('green-tea', 'workspace-tea'), 'green-tea-6831')],
  [
    'Instance with a long name',
    instance(refs('editor-python', 'workspace-standalone'), 'instance-editor-python-proxyenabled'),
  ],
  [
    'early Instance of an exam',
    instance({
      ...refs('exam', 'workspace-tea'),
      running: false,
      prettyName: 'Exam 7',
      customizationUrls: {
        contentOrigin: 'http://exam.example.com/start.zip',
        contentDestination: 'http://exam.example.com/hand-in?id=7',
        statusCheck: 'http://exam.example.com/7',
      },
    }),
  ],
  [
    'late Instance of an exam',
    instance({
      ...refs('exam', 'workspace-tea'),
      statusCheckUrl: 'https://exam.example.com/7',
      contentUrls: { default: { origin: 'https://exam.example.com/a.zip', destination: 'https://exam.example.com/b' } },
      nodeSelector: { disk: 'fast' },
      publicExposure: { ports: [{ name: 'web', port: 0, targetPort: 8080 }] },
    }),
  ],
  [
    'snapshot of an Instance elsewhere',
    snapshot({ instanceRef: { name: 'green-tea-6831', namespace: 'workspace-tea' } }),
  ],
  ['snapshot of one environment', snapshot({ environmentRef: { name: 'server' } })],
  ['SharedVolume', sharedVolume({ prettyName: 'Lemons for all', size: '1Gi' })],
];

export const samples: readonly Case[] = [...workspaces, ...tenants, ...templates, ...others];

/** What later versions of CrownLabs ask for in a Tenant and Workspace beyond their samples. */
export const allFields: readonly Case[] = [
  [
    'a Workspace with all that it can have',
    workspace({
      autoEnroll: 'withApproval',
      quota: quota({ cpu: '8000m', disk: '100Gi', otherResources: { 'nvidia.com/gpu': 1, 'example.com/fpga': '2' } }),
    }),
  ],
  ['a Workspace that says that nobody enrols', workspace({ autoEnroll: '' })],
  [
    'a Tenant with all that it can have',
    tenant({
      lastLogin: '2026-03-01T08:00:00Z',
      createSandbox: true,
      workspaces: [{ name: 'tea', role: 'candidate' }],
      quota: { cpu: '4500m', memory: '8G', instances: 0 },
      personalWorkspace: quota({ disk: '5Gi' }),
    }),
  ],
];
