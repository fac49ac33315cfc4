/** What the API server must refuse of the labs' kinds, where it says so, and in which words; and that `parse` would say no as well. */
import type { Client } from '@podloom/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  environment,
  exposing,
  imageList,
  instance,
  quota,
  resources,
  sharedVolume,
  snapshot,
  template,
  templateWith,
  tenant,
  workspace,
} from './labs-manifests.ts';
import { connectWithKinds, isAcceptedByUs, refusalsOf, type Manifest } from './server.ts';

type Case = readonly [sentence: string, manifest: Manifest, field: string, message: string];

const quantityText = 'must be a quantity such as 4, 500m or 8Gi';
const positiveText = 'must be more than 0';
const mailText = 'must be an e-mail address such as';
const keyText = 'must be a public key on one line';
const imageText = 'must be an image of a registry';
const addressText = 'must be an address that begins with http:// or https://';
const folderText = 'must be a path from the root';
const ageText = 'must be never, or a number with one of the units';
const enumText = 'supported values';

const workspaces: readonly Case[] = [
  ['no quota', workspace({ quota: undefined }), 'spec.quota', 'Required value'],
  ['no name that people see', workspace({ prettyName: undefined }), 'spec.prettyName', 'Required value'],
  ['CPUs in words', workspace({ quota: quota({ cpu: 'eight' }) }), 'spec.quota.cpu', quantityText],
  ['no CPU at all', workspace({ quota: quota({ cpu: 0 }) }), 'spec.quota.cpu', positiveText],
  ['CPUs below zero', workspace({ quota: quota({ cpu: -1 }) }), 'spec.quota.cpu', quantityText],
  ['CPUs below zero, as text', workspace({ quota: quota({ cpu: '-500m' }) }), 'spec.quota.cpu', quantityText],
  ['half a CPU as a number', workspace({ quota: quota({ cpu: 0.5 }) }), 'spec.quota.cpu', 'must be of type'],
  ['memory with a unit of its own', workspace({ quota: quota({ memory: '16GB' }) }), 'spec.quota.memory', quantityText],
  ['memory with a space', workspace({ quota: quota({ memory: '16 Gi' }) }), 'spec.quota.memory', quantityText],
  ['memory of zero', workspace({ quota: quota({ memory: '0.0Gi' }) }), 'spec.quota.memory', positiveText],
  ['no memory', workspace({ quota: quota({ memory: undefined }) }), 'spec.quota.memory', 'Required value'],
  [
    'no instance at all',
    workspace({ quota: quota({ instances: 0 }) }),
    'spec.quota.instances',
    'greater than or equal to 1',
  ],
  [
    'instances as text',
    workspace({ quota: quota({ instances: '2' }) }),
    'spec.quota.instances',
    'must be of type integer',
  ],
  ['a bad disk', workspace({ quota: quota({ disk: 'big' }) }), 'spec.quota.disk', quantityText],
  [
    'a further resource without a name',
    workspace({ quota: quota({ otherResources: { '/gpu': 1 } }) }),
    'spec.quota.otherResources',
    'must be names of resources',
  ],
  [
    'a bad amount of a further resource',
    workspace({ quota: quota({ otherResources: { 'nvidia.com/gpu': 'one' } }) }),
    'spec.quota.otherResources[nvidia.com/gpu]',
    quantityText,
  ],
  ['another way to enrol', workspace({ autoEnroll: 'always' }), 'spec.autoEnroll', enumText],
  ['a name with a dot', workspace({}, 'tea.green'), 'metadata.name', 'should match'],
  ['a name too long for a namespace', workspace({}, 't'.repeat(54)), 'metadata.name', 'Too long'],
];

const tenants: readonly Case[] = [
  ['no first name', tenant({ firstName: undefined }), 'spec.firstName', 'Required value'],
  ['no last name', tenant({ lastName: undefined }), 'spec.lastName', 'Required value'],
  ['no e-mail address', tenant({ email: undefined }), 'spec.email', 'Required value'],
  ['an e-mail address without @', tenant({ email: 'mary.example.com' }), 'spec.email', mailText],
  ['an e-mail address with a name', tenant({ email: 'Mary <mary@example.com>' }), 'spec.email', mailText],
  [
    'an e-mail address of two lines',
    tenant({ email: 'mary@example.com\nBcc: all@example.com' }),
    'spec.email',
    mailText,
  ],
  ['an e-mail address at a host with a dash first', tenant({ email: 'mary@-example.com' }), 'spec.email', mailText],
  [
    'a role that there is not',
    tenant({ workspaces: [{ name: 'tea', role: 'owner' }] }),
    'spec.workspaces[0].role',
    enumText,
  ],
  ['no role', tenant({ workspaces: [{ name: 'tea' }] }), 'spec.workspaces[0].role', 'Required value'],
  [
    'one workspace twice',
    tenant({
      workspaces: [
        { name: 'tea', role: 'user' },
        { name: 'tea', role: 'manager' },
      ],
    }),
    'spec.workspaces[1]',
    'Duplicate value',
  ],
  [
    'a workspace that can have no namespace',
    tenant({ workspaces: [{ name: 'Tea', role: 'user' }] }),
    'spec.workspaces[0].name',
    'should match',
  ],
  ['a key of one word', tenant({ publicKeys: ['AAAAC3NzaC1lZDI1NTE5'] }), 'spec.publicKeys[0]', keyText],
  ['an empty key', tenant({ publicKeys: [''] }), 'spec.publicKeys[0]', keyText],
  [
    'two keys in one',
    tenant({ publicKeys: ['ssh-ed25519 AAAA mary\nssh-ed25519 BBBB john'] }),
    'spec.publicKeys[0]',
    keyText,
  ],
  ['a key with a line after it', tenant({ publicKeys: ['ok ok', 'ssh-rsa AAAA\rx'] }), 'spec.publicKeys[1]', keyText],
  ['a last login that is no time', tenant({ lastLogin: 'yesterday' }), 'spec.lastLogin', 'must be of type date-time'],
  ['a sandbox of another kind', tenant({ createSandbox: 'yes' }), 'spec.createSandbox', 'must be of type boolean'],
  ['a bad quota', tenant({ quota: quota({ cpu: 'all' }) }), 'spec.quota.cpu', quantityText],
  [
    'instances below zero',
    tenant({ quota: quota({ instances: -1 }) }),
    'spec.quota.instances',
    'greater than or equal to 0',
  ],
  [
    'a personal workspace without memory',
    tenant({ personalWorkspace: quota({ memory: 0 }) }),
    'spec.personalWorkspace.memory',
    positiveText,
  ],
  ['a name too long for a namespace', tenant({}, 'm'.repeat(56)), 'metadata.name', 'Too long'],
];

const first = 'spec.environmentList[0]';
const mount = (fields: object) => ({
  sharedVolumeMounts: [{ sharedVolume: { name: 'lemon' }, mountPath: '/media/lemon', readOnly: true, ...fields }],
});

const templates: readonly Case[] = [
  ['no environment', template(), 'spec.environmentList', 'at least 1 items'],
  ['two environments of one name', template({}, {}), 'spec.environmentList[1]', 'Duplicate value'],
  [
    'eleven environments',
    template(...Array.from({ length: 11 }, (_, i) => ({ name: `e${i}` }))),
    'spec.environmentList',
    'Too many',
  ],
  ['an environment with capitals', template({ name: 'Green' }), `${first}.name`, 'should match'],
  ['an environment of 64 characters', template({ name: 'g'.repeat(64) }), `${first}.name`, 'Too long'],
  ['a type that there is not', template({ environmentType: 'Unikernel' }), `${first}.environmentType`, enumText],
  ['an image with capitals', template({ image: 'registry.example.com/Tea' }), `${first}.image`, imageText],
  ['an image with a space', template({ image: 'green tea' }), `${first}.image`, imageText],
  ['an image by its address', template({ image: 'https://registry.example.com/tea' }), `${first}.image`, imageText],
  ['an empty image', template({ image: '', environmentType: 'Container' }), `${first}.image`, imageText],
  [
    'an image of a disk that is no address',
    template({ environmentType: 'CloudVM', image: 'debian:13' }),
    `${first}.image`,
    'must be the address of a disk image',
  ],
  [
    'a local image without a namespace',
    template({ environmentType: 'LocalVM', image: 'golden' }),
    `${first}.image`,
    'must be NAMESPACE/CLAIM',
  ],
  ['no CPU', template({ resources: resources({ cpu: 0 }) }), `${first}.resources.cpu`, 'greater than or equal to 1'],
  [
    'nothing of a CPU reserved',
    template({ resources: resources({ reservedCPUPercentage: 0 }) }),
    `${first}.resources.reservedCPUPercentage`,
    'greater than or equal to 1',
  ],
  [
    'more than a CPU reserved',
    template({ resources: resources({ reservedCPUPercentage: 101 }) }),
    `${first}.resources.reservedCPUPercentage`,
    'less than or equal to 100',
  ],
  ['bad memory', template({ resources: resources({ memory: '2G i' }) }), `${first}.resources.memory`, quantityText],
  ['a bad disk', template({ resources: resources({ disk: '-1Gi' }) }), `${first}.resources.disk`, quantityText],
  [
    'no resources',
    templateWith({ environmentList: [environment({ resources: undefined })] }),
    `${first}.resources`,
    'Required value',
  ],
  ['a mode that there is not', template({ mode: 'Homework' }), `${first}.mode`, enumText],
  [
    'an archive that is no address',
    template({ containerStartupOptions: { sourceArchiveURL: 'file:///etc/passwd' } }),
    `${first}.containerStartupOptions.sourceArchiveURL`,
    addressText,
  ],
  [
    'a folder that leaves its place',
    template({ containerStartupOptions: { contentPath: '/media/../etc' } }),
    `${first}.containerStartupOptions.contentPath`,
    folderText,
  ],
  [
    'a mount without a root',
    template(mount({ mountPath: 'lemon' })),
    `${first}.sharedVolumeMounts[0].mountPath`,
    folderText,
  ],
  [
    'a mount that does not say whether it can be written',
    template(mount({ readOnly: null })),
    `${first}.sharedVolumeMounts[0].readOnly`,
    'Required value',
  ],
  [
    'two mounts at one path',
    template({ sharedVolumeMounts: [mount({}), mount({})].flatMap((one) => one.sharedVolumeMounts) }),
    `${first}.sharedVolumeMounts[1]`,
    'Duplicate value',
  ],
  ['an age in weeks', templateWith({ deleteAfter: '2w' }), 'spec.deleteAfter', ageText],
  [
    'an age in words',
    templateWith({ cleanup: { stopAfterInactivity: 'soon' } }),
    'spec.cleanup.stopAfterInactivity',
    ageText,
  ],
  [
    'two ages for one thing',
    templateWith({ deleteAfter: '14d', cleanup: { deleteAfterCreation: '30d' } }),
    'spec.deleteAfter',
    'say the same',
  ],
  [
    'a workspace by a name that none has',
    templateWith({ 'workspace.crownlabs.polito.it/WorkspaceRef': { name: 'Tea course' } }),
    'spec.workspace.crownlabs.polito.it/WorkspaceRef.name',
    'should match',
  ],
];

const ports = 'spec.publicExposure.ports';
const ssh = { name: 'ssh', targetPort: 22 };

const others: readonly Case[] = [
  [
    'an Instance of no Template',
    instance({ 'template.crownlabs.polito.it/TemplateRef': undefined }),
    'spec.template.crownlabs.polito.it/TemplateRef',
    'Required value',
  ],
  [
    'an Instance of nobody',
    instance({ 'tenant.crownlabs.polito.it/TenantRef': undefined }),
    'spec.tenant.crownlabs.polito.it/TenantRef',
    'Required value',
  ],
  ['an Instance that is half on', instance({ running: 'half' }), 'spec.running', 'must be of type boolean'],
  [
    'a status address that is none',
    instance({ statusCheckUrl: 'exam.example.com' }),
    'spec.statusCheckUrl',
    addressText,
  ],
  [
    'content from nowhere',
    instance({ customizationUrls: { contentOrigin: 'http://' } }),
    'spec.customizationUrls.contentOrigin',
    addressText,
  ],
  ['an Instance with a long name', instance({}, 'i'.repeat(64)), 'metadata.name', 'Too long'],
  [
    'a port over 65535',
    exposing({ ...ssh, targetPort: 65536 }),
    `${ports}[0].targetPort`,
    'less than or equal to 65535',
  ],
  ['no port of the environment', exposing({ name: 'ssh' }), `${ports}[0].targetPort`, 'Required value'],
  ['one port twice', exposing(ssh, { ...ssh, name: 'also' }), ports, 'the same targetPort'],
  [
    'one public port twice',
    exposing({ ...ssh, port: 2022 }, { name: 'web', targetPort: 80, port: 2022 }),
    ports,
    'ask for the same port',
  ],
  ['one name twice', exposing(ssh, { ...ssh, targetPort: 23 }), ports, 'the same name'],
  ['a protocol that there is not', exposing({ ...ssh, protocol: 'ICMP' }), `${ports}[0].protocol`, enumText],
  ['a snapshot of nothing', snapshot({ instanceRef: undefined }), 'spec.instanceRef', 'Required value'],
  ['a snapshot without a name', snapshot({ imageName: '' }), 'spec.imageName', 'at least 1 chars'],
  ['a snapshot with a tag', snapshot({ imageName: 'tea:1' }), 'spec.imageName', 'without registry and tag'],
  ['a snapshot with capitals', snapshot({ imageName: 'Tea' }), 'spec.imageName', 'in lower case'],
  ['a SharedVolume without a size', sharedVolume({ size: undefined }), 'spec.size', 'Required value'],
  ['a SharedVolume of nothing', sharedVolume({ size: 0 }), 'spec.size', positiveText],
  ['a SharedVolume of a bad size', sharedVolume({ size: '1 GB' }), 'spec.size', quantityText],
  ['an image list of no registry', imageList({ registryName: undefined }), 'spec.registryName', 'Required value'],
  ['an image without versions', imageList({ images: [{ name: 'tea' }] }), 'spec.images[0].versions', 'Required value'],
];

let client: Client;
beforeAll(async () => {
  client = await connectWithKinds();
});
afterAll(() => client.close());

describe.each([
  ['a Workspace with', workspaces],
  ['a Tenant with', tenants],
  ['a Template with', templates],
  ['another kind:', others],
])('%s', (_, cases) => {
  it.each(cases)('%s', async (_sentence, manifest, field, message) => {
    const refusals = await refusalsOf(client, manifest);
    expect(refusals).toContainEqual({ field, message: expect.stringContaining(message) });
    expect(isAcceptedByUs(manifest)).toBe(false);
  });
});
