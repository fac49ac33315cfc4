/** What an administrator can set of the operator of the labs. The flags are upstream's, under their names; a few are ours. */
import { InvalidInput } from '@podloom/api';
import { type SettingSources, duration, flag, integer, operatorFields, path, settings, text } from '@podloom/kube';
import { type FlagWithoutEffect, takeWithoutEffect } from './without-effect.ts';

export const fieldManager = 'podloom-labs-operator';

const declared = settings({
  ...operatorFields(fieldManager),
  metricsAddr: text()
    .default('')
    .describe('Further address for /healthz, /readyz and /metrics, as :8080 or 127.0.0.1:8080.'),
  healthProbeBindAddress: text().default('').describe('Further address for the same, for probes.'),
  targetLabel: text()
    .default('')
    .describe(
      'Label, as key=value, of the Workspaces and Tenants to serve. Left out, all. With it, several operators can share a cluster.',
    ),
  enableTenant: flag().default('true').describe('Serves Tenants.'),
  enableWorkspace: flag().default('true').describe('Serves Workspaces.'),
  enableSharedvolume: flag().default('true').describe('Serves SharedVolumes.'),
  enableImagelist: flag().default('false').describe('Keeps ImageLists as the registries are that a file names.'),
  imageListConfigFile: text()
    .default('/etc/config/registries.yaml')
    .describe('That file: a list of registries, each with imageListName, url, registryName, username, password, ca.'),
  imageListUpdateInterval: integer({ min: 0, max: 86_400 })
    .default('300')
    .describe('Seconds between one look at a registry and the next. 0 is 300.'),
  sharedVolumeStorageClass: text()
    .default('rook-nfs')
    .describe('StorageClass of SharedVolumes; it must offer ReadWriteMany.'),
  maxConcurrentReconcilesShvol: integer({ min: 1, max: 64 })
    .default('1')
    .describe('How many SharedVolumes are worked on at a time.'),
  maxConcurrentReconciles: integer({ min: 1, max: 64 })
    .default('4')
    .describe('How many objects of a kind are worked on at a time.'),
  rescheduleMin: duration()
    .default('1h')
    .describe('Each object is looked at again after a random time: at least this. 0 for both: never without a reason.'),
  rescheduleMax: duration().default('2h').describe('And at most this.'),
  tenantNsKeepAlive: duration()
    .default('0')
    .describe(
      'For how long after the last login a Tenant keeps its namespace, unless instances are in it. 0 keeps it always.',
    ),
  waitUserVerification: flag().describe(
    'Makes nothing for a Tenant before the e-mail address is verified at Keycloak.',
  ),
  tenantNamespaceCommonLabels: text()
    .default('')
    .describe('Further labels of personal namespaces, as key=value, separated by commas.'),
  sandboxClusterRole: text().default('crownlabs-sandbox').describe('ClusterRole that a Tenant has in the sandbox.'),
  baseWorkspaces: text().default('').describe('Workspaces in which every Tenant is a user, separated by commas.'),
  capInstance: integer({ min: 0 })
    .default('10')
    .describe('Most instances of a Tenant, whatever the workspaces grant. 0 is no cap.'),
  capCpu: integer({ min: 0 }).default('25').describe('Most CPUs of a Tenant. 0 is no cap.'),
  capMemoryGiga: integer({ min: 0 }).default('50').describe('Most memory of a Tenant, in GB of 1000 MB. 0 is no cap.'),
  mydrivePvcsSize: text()
    .env('MYDRIVE_PVCS_SIZE')
    .default('1Gi')
    .describe('Size of a personal drive. Larger than before, drives grow; a drive never shrinks.'),
  mydrivePvcsStorageClassName: text()
    .env('MYDRIVE_PVCS_STORAGE_CLASS')
    .default('rook-nfs')
    .describe('StorageClass of personal drives; it must offer ReadWriteMany.'),
  mydrivePvcsNamespace: text()
    .env('MYDRIVE_PVCS_NAMESPACE')
    .default('mydrive-pvcs')
    .describe('Namespace of the claims of all drives. It is made where it is missing.'),
  mydrivePvcsDelete: flag().describe(
    'Deletes the drive, with what is on it, when its Tenant is deleted. Otherwise it stays.',
  ),
  mydriveProvisionImage: text()
    .default('busybox')
    .describe('Image of the Job that gives a new drive to the user of the labs. It needs the program chown.'),
  mirrorStorageClass: text()
    .default('pvc-mirror')
    .describe('Name of the class that mirrored volumes carry. No such StorageClass is needed.'),
  mirrorProvisioners: text()
    .default('')
    .describe(
      'Provisioners whose hostPath, local and NFS volumes may be mirrored into namespaces of Tenants, separated by commas. CSI volumes always may.',
    ),
  keycloakUrl: text()
    .env('KEYCLOAK_URL')
    .default('')
    .describe('Where Keycloak is. Left out, there are no accounts, and statuses say so.'),
  keycloakRealm: text().env('KEYCLOAK_REALM').default('').describe('Realm of the accounts.'),
  keycloakClientId: text().env('KEYCLOAK_CLIENT_ID').default('').describe('Client that the operator logs in as.'),
  keycloakClientSecret: text()
    .env('KEYCLOAK_CLIENT_SECRET')
    .default('')
    .describe('Its secret. The environment keeps it out of process lists.'),
  keycloakRolesClientId: text()
    .env('KEYCLOAK_TARGET_CLIENT')
    .default('')
    .describe('Client that has the roles of the workspaces. Left out, the one above.'),
  keycloakCaFile: path()
    .env('KEYCLOAK_CA_FILE')
    .default('')
    .describe('Certificates, as PEM, of the authorities that Keycloak is believed by. Left out, the public ones.'),
  tenantWebhookPort: text()
    .default(':8082')
    .describe('Address for events of Keycloak: POST /tenant-webhook. Served by the leader, where the secret is set.'),
  tenantWebhookSecret: text()
    .env('TENANT_WEBHOOK_SECRET')
    .default('')
    .describe('Secret that events are signed with. Without it there is no such address.'),
});

export type LabsOperatorSettings = ReturnType<typeof declared.read> & {
  readonly withoutEffect: readonly FlagWithoutEffect[];
};

export const labsOperatorSettings = {
  ...declared,
  read({ args, ...sources }: SettingSources): LabsOperatorSettings {
    const { rest, taken } = takeWithoutEffect(args);
    return { ...declared.read({ ...sources, args: rest }), withoutEffect: taken };
  },
};

export interface Address {
  readonly host?: string;
  readonly port: number;
}

/** Where health and figures are served beside `--port`; an address that is said twice is one. */
export function addressesOf({ metricsAddr, healthProbeBindAddress }: LabsOperatorSettings): Address[] {
  const written = new Set([metricsAddr, healthProbeBindAddress].filter((one) => one !== '' && one !== '0'));
  return [...written].map(parseAddress);
}

export function parseAddress(text: string): Address {
  const [, host, port] = /^\[?([^\]]*?)\]?:(\d{1,5})$/.exec(text) ?? [];
  if (port === undefined) throw new InvalidInput('ADDRESS', `"${text}" is no address such as :8080 or 127.0.0.1:8080`);
  return { port: Number(port), ...(host && { host }) };
}
