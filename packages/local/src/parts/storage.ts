/**
 * Storage: a StorageClass whose volumes are folders that all nodes share, so that they can be mounted on many nodes at once (RWX). The
 * provisioner is local-path-provisioner, as a process beside the control plane; it makes and removes folders by pods.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  clusterRoleBindings,
  clusterRoles,
  type Client,
  namespaces,
  roleBindings,
  roles,
  serviceAccounts,
  storageClasses,
} from '@podloom/kube';
import { cacheDir } from '../binaries/once.ts';
import type { ClusterPlan } from '../cluster/plan.ts';
import { ensureOciArchive } from '@podloom/oci';
import { busyboxProgram } from '../images/tools.ts';
import { withLock } from '../process/lock.ts';
import { confined, ownFolder, seenAs } from '../supervisor/confined.ts';
import type { Part } from './part.ts';

const className = 'podloom-shared';
const provisioner = 'rancher.io/local-path';
const namespace = 'podloom-storage';
const account = 'local-path-helper';
const user = 'podloom:storage';
const uid = 61_001;
const image = 'podloom.local/storage-helper:v1';
const fieldManager = 'podloom-cluster';

const folderOf = (plan: ClusterPlan): string => join(plan.dir, 'storage');
const archive = (): string => join(cacheDir(), 'images', 'storage-helper.tar');

export const storage: Part = {
  modules: ['storage'],
  certificates: () => ({ storage: { commonName: user } }),
  facts: (plan) => ({ storageClass: className, provisioner, folder: folderOf(plan) }),

  async prepare() {
    const out = archive();
    await mkdir(join(cacheDir(), 'images'), { recursive: true });
    await withLock(out, async () => ensureOciArchive({ out, name: image, layers: [helperEntries()], config: {} }));
  },

  async start({ plan, built, client, launcher, loadImage }) {
    const own = join(plan.dir, 'storage-provisioner');
    await mkdir(folderOf(plan), { recursive: true, mode: 0o700 });
    await ownFolder(uid, own, {
      'config.json': JSON.stringify(provisionerConfig(plan)),
      'helper-pod.json': JSON.stringify(helperPod),
      kubeconfig: await readFile(join(plan.pki, 'storage.kubeconfig'), 'utf8'),
    });
    await loadImage(archive());
    await applyObjects(client);
    const program = built.path('local-path-provisioner');
    const options = {
      kubeconfig: seenAs('own', 'kubeconfig'),
      config: seenAs('own', 'config.json'),
      'helper-pod-file': seenAs('own', 'helper-pod.json'),
      'helper-image': image,
      namespace,
      'service-account-name': account,
    };
    const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`);
    const folders = { own, program: dirname(program) };
    const command = [seenAs('program', basename(program)), 'start', ...args] as const;
    launcher.inControl('local-path-provisioner', ['unshare', ...confined({ user: uid, folders, command })]);
  },
};

function provisionerConfig(plan: ClusterPlan) {
  return {
    sharedFileSystemPath: folderOf(plan),
    setupCommand: '/bin/setup',
    teardownCommand: '/bin/teardown',
    // For a pod that makes one folder, on a machine that may do much else.
    cmdTimeoutSeconds: 300,
  };
}

/** A shell, and the two commands: the provisioner says by `-p` for which folder. */
function helperEntries() {
  return [
    { path: 'bin/busybox', file: busyboxProgram(), mode: 0o755 },
    ...['sh', 'mkdir', 'rm'].map((path) => ({ path: `bin/${path}`, link: 'busybox' })),
    { path: 'bin/setup', text: script('mkdir -m 0777 -p'), mode: 0o755 },
    { path: 'bin/teardown', text: script('rm -rf'), mode: 0o755 },
  ];
}

function script(command: string): string {
  return `#!/bin/sh\nset -eu\n[ "$1" = -p ] && ${command} "$2"\n`;
}

/** Root in the container with nothing but the right to remove what pods of any user left in a volume. */
const helperPod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'storage' },
  spec: {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'helper-pod',
        image,
        imagePullPolicy: 'Never',
        securityContext: {
          runAsUser: 0,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'], add: ['DAC_OVERRIDE', 'FOWNER'] },
          seccompProfile: { type: 'RuntimeDefault' },
        },
      },
    ],
  },
};

async function applyObjects(client: Client): Promise<void> {
  const options = { fieldManager, force: true };
  const name = 'podloom:storage';
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }];
  const look = ['get', 'list', 'watch'];
  await client.apply(namespaces, { metadata: { name: namespace } }, options);
  await client.apply(serviceAccounts, { metadata: { name: account, namespace } }, options);
  await client.apply(
    roles,
    {
      metadata: { name, namespace },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'create', 'delete'] }],
    },
    options,
  );
  const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
  await client.apply(roleBindings, { metadata: { name, namespace }, roleRef: role, subjects }, options);
  await client.apply(
    clusterRoles,
    {
      metadata: { name },
      rules: [
        { apiGroups: [''], resources: ['nodes', 'persistentvolumeclaims'], verbs: look },
        { apiGroups: [''], resources: ['persistentvolumes'], verbs: [...look, 'create', 'patch', 'update', 'delete'] },
        { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
        { apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs: look },
      ],
    },
    options,
  );
  const clusterRole = { ...role, kind: 'ClusterRole' };
  await client.apply(clusterRoleBindings, { metadata: { name }, roleRef: clusterRole, subjects }, options);
  await client.apply(
    storageClasses,
    {
      metadata: { name: className, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner,
      reclaimPolicy: 'Delete',
      // All nodes have the folder: there is no reason to wait for a pod.
      volumeBindingMode: 'Immediate',
      // A folder has no size, so it can hold what a larger claim asks for.
      allowVolumeExpansion: true,
    },
    options,
  );
}
