/** Labels of the labs: the keys are CrownLabs' own, and others select by them. */
import { InvalidInput } from '@podloom/api';
import type { Labels } from './object.ts';

const prefix = 'crownlabs.polito.it/';

export const labels = {
  managedBy: `${prefix}managed-by`,
  type: `${prefix}type`,
  name: `${prefix}name`,
  tenant: `${prefix}tenant`,
  firstName: `${prefix}first-name`,
  lastName: `${prefix}last-name`,
  /** With the name of a workspace behind it. The value is the role. */
  workspacePrefix: `${prefix}workspace-`,
  noWorkspaces: `${prefix}no-workspaces`,
  autoEnroll: `${prefix}autoenroll`,
  replicateSecrets: `${prefix}instance-resources-replication`,
  allowInstanceAccess: `${prefix}allow-instance-access`,
  volumeType: `${prefix}volume-type`,
  volumeProvisioning: `${prefix}volume-provisioning`,
  mirroredVolume: `${prefix}mirrored-pv`,
  mirroredClaim: `${prefix}mirrored-pvc-name`,
  mirroredClaimNamespace: `${prefix}mirrored-pvc-namespace`,
} as const;

export const tenantFinalizer = `${prefix}tenant-operator`;

/** `key=value` pairs, joined by commas or `&`. */
export function parseLabels(text: string): Labels {
  const pairs = text
    .split(/[,&]/)
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, key, value] = /^([^=\s]+)=([^=\s]*)$/.exec(pair) ?? [];
      if (key === undefined || value === undefined) {
        throw new InvalidInput('LABEL', `"${pair}" is no label; write key=value`);
      }
      return [key, value];
    }),
  );
}

export const hasLabels = (object: { readonly metadata: { readonly labels?: Labels | undefined } }, wanted: Labels) =>
  Object.entries(wanted).every(([key, value]) => object.metadata.labels?.[key] === value);

/** A name of a person as the value of a label: spaces become underscores, and what a label cannot have is left out. */
export function labelValue(text: string): string {
  const allowed = text.replaceAll(' ', '_').replaceAll(/[^A-Za-z0-9_]/g, '');
  return allowed.slice(0, 63).replaceAll(/^_+|_+$/g, '');
}
