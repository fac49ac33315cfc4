/** The Job that gives a fresh volume to the user of the labs' containers. */
import { type LabObject, type Labels, object } from '../object.ts';

/** User and group of every container and virtual machine of the labs. */
export const labUser = 1010;

const mountPath = '/media/mydrive';
const week = 604_800;

export const provisioningJobName = (claim: string): string => `${claim.slice(0, 53)}-provision`;

export function provisioningJob(claim: { name: string; namespace: string }, image: string, labels: Labels): LabObject {
  const amount = { cpu: '100m', memory: '128Mi' };
  const container = {
    name: 'chown-container',
    image,
    command: ['chown', '-R', `${labUser}:${labUser}`, mountPath],
    resources: { requests: amount, limits: amount },
    volumeMounts: [{ name: 'drive', mountPath }],
    securityContext: {
      runAsUser: 0,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'], add: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  };
  return object(
    'batch/v1',
    'Job',
    { name: provisioningJobName(claim.name), namespace: claim.namespace, labels },
    {
      spec: {
        backoffLimit: 3,
        ttlSecondsAfterFinished: week,
        template: {
          spec: {
            restartPolicy: 'Never',
            automountServiceAccountToken: false,
            enableServiceLinks: false,
            containers: [container],
            volumes: [{ name: 'drive', persistentVolumeClaim: { claimName: claim.name } }],
          },
        },
      },
    },
  );
}

/** What we read of a Job. */
export interface JobLike {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
  };
}

export function jobOutcome(job: JobLike | undefined): 'running' | 'complete' | 'failed' {
  const has = (type: string) => job?.status?.conditions?.some((one) => one.type === type && one.status === 'True');
  if (has('Complete')) return 'complete';
  return has('Failed') ? 'failed' : 'running';
}
