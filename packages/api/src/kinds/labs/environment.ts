/** One environment of a Template: a virtual machine or a container, its image, its size, and what is mounted in it. */
import * as z from 'zod';
import { listMap, text } from '../../schema/fields.ts';
import { quantity, quantityAboveZero } from '../../schema/quantity.ts';
import { ruled } from '../../schema/rule.ts';
import { dnsLabel, folder, genericRef, nodeSelector, otherResources, webAddress } from './fields.ts';

export const environmentTypes = ['VirtualMachine', 'Container', 'CloudVM', 'Standalone', 'LocalVM'] as const;

/** More than host names: examples have placeholders there, such as YOUR_NAME/image. */
const host = '[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?(:[0-9]{1,5})?';
const pathPart = '[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*';
/** As the distribution project has it: host, path, tag, digest. */
const imageReference = `^(${host}/)?${pathPart}(/${pathPart})*(:[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?(@[A-Za-z0-9]+:[0-9a-fA-F]{32,128})?$`;
const downloadAddress = '^https?://[^ \\t\\r\\n/]+[^ \\t\\r\\n]*$';
const claimOfNamespace = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$';

interface Pictured {
  readonly environmentType: (typeof environmentTypes)[number];
  readonly image: string;
}

const imageRule = (types: readonly string[], pattern: string, message: string) => ({
  cel: `!(self.environmentType in [${types.map((type) => `'${type}'`).join(', ')}]) || self.image.matches(r'${pattern}')`,
  holds: ({ environmentType, image }: Pictured) => !types.includes(environmentType) || new RegExp(pattern).test(image),
  message,
  fieldPath: '.image',
});

const resources = z
  .object({
    cpu: z.int().min(1).describe('CPUs that the environment has at most.'),
    reservedCPUPercentage: z.int().min(1).max(100).describe('How much of that is reserved for it, in percent.'),
    memory: quantityAboveZero('Memory, such as 2Gi; all of it is reserved.'),
    disk: quantity('Size of the disk of a persistent environment.').optional(),
    otherResources: otherResources('Further resources, such as nvidia.com/gpu, reserved and limited alike.').optional(),
  })
  .describe('Size of the environment.');

const containerStartupOptions = z
  .object({
    sourceArchiveURL: webAddress('An archive that is unpacked into the folder before the container starts.').optional(),
    contentPath: folder(
      'The folder that is kept where the environment is persistent; /media/data if left out.',
    ).optional(),
    startupArgs: z
      .array(text(4096, 'One argument.'))
      .max(64)
      .describe('Arguments of the container, instead of those of its image.')
      .optional(),
    enforceWorkdir: z.boolean().describe('Whether the container starts in that folder.').default(false),
  })
  .describe('How a container starts. Virtual machines do not read it.');

const sharedVolumeMount = z
  .object({
    sharedVolume: genericRef('The SharedVolume; without a namespace, one beside the Template.'),
    mountPath: folder('Where it is mounted.'),
    readOnly: z.boolean().describe('Whether it can only be read. Managers of the workspace can always write.'),
  })
  .describe('One SharedVolume.');

export const environment = ruled(
  z.object({
    name: dnsLabel('Name of the environment, and of its container.'),
    image: text(
      1024,
      'What it starts from. VirtualMachine, Container and Standalone: an image of a registry. CloudVM: the address of a disk image. LocalVM: NAMESPACE/CLAIM, a volume that is copied.',
    ),
    environmentType: z
      .enum(environmentTypes)
      .describe(
        'VirtualMachine, CloudVM and LocalVM are virtual machines, told apart by where the disk comes from; Standalone is a container that serves HTTP itself; Container is one whose desktop is shown.',
      ),
    guiEnabled: z.boolean().describe('Whether it has a desktop that is shown in the browser.').default(true),
    disableControls: z
      .boolean()
      .describe('Whether the bar of the desktop is hidden. Only of type Container.')
      .default(false),
    persistent: z.boolean().describe('Whether the disk is kept while the Instance is off.').default(false),
    resources,
    mode: z
      .enum(['Standard', 'Exam', 'Exercise'])
      .describe(
        'Exam and Exercise are served under exam.HOST and exercise.HOST without a login; their virtual machines get no cloud-init disk, and their containers no port for the drive.',
      )
      .default('Standard'),
    rewriteURL: z
      .boolean()
      .describe('Whether the environment is asked for / instead of the path that people see.')
      .default(false),
    containerStartupOptions: containerStartupOptions.optional(),
    storageClassName: text(
      253,
      'Storage class of the volume of a persistent container. Disks of virtual machines do not read it.',
    ).optional(),
    mountMyDriveVolume: z.boolean().describe("Whether the person's drive is mounted, at /media/mydrive.").default(true),
    sharedVolumeMounts: listMap(sharedVolumeMount, ['mountPath'], 16)
      .describe('SharedVolumes that are mounted, each at a path of its own.')
      .optional(),
    nodeSelector: nodeSelector(
      'Labels of the nodes that it may run on. Left out, nobody chooses; empty, the Instance chooses. The one of the Template wins.',
    ).optional(),
  }),
  imageRule(
    ['VirtualMachine', 'Container', 'Standalone'],
    imageReference,
    'must be an image of a registry, such as registry.example.com/tea/green:1.0',
  ),
  imageRule(['CloudVM'], downloadAddress, 'must be the address of a disk image: http://… or https://…'),
  imageRule(['LocalVM'], claimOfNamespace, 'must be NAMESPACE/CLAIM, the volume to copy'),
).describe('One environment.');
