/** Objects as the tests write them, and as much of them as the tests read. */
import { inject } from 'vitest';

interface Named {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly creationTimestamp: string;
    readonly generation?: number;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
  };
}

export interface Pod extends Named {
  readonly spec: { readonly nodeName: string };
  readonly status: {
    readonly phase: string;
    readonly containerStatuses?: readonly {
      readonly ready: boolean;
      readonly restartCount: number;
      readonly containerID?: string;
      readonly state?: { readonly running?: { readonly startedAt: string } };
    }[];
  };
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
}

export interface Source extends Named {
  readonly status?: {
    readonly phase?: string;
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
    readonly podConfigurations?: readonly { readonly podName: string; readonly configList: readonly string[] }[];
    readonly PodNetworkConfigs?: readonly { readonly podName: string; readonly configList: readonly string[] }[];
    readonly bridgeConfigs?: readonly { readonly nodeName: string; readonly ports: number }[];
  };
}

export interface PodNetwork extends Named {
  readonly spec: { readonly podUid: string; readonly nodeName: string };
  readonly status?: {
    readonly podPid?: number;
    readonly interfaces?: readonly { readonly name: string; readonly hostName: string; readonly state: string }[];
    readonly primary?: { readonly before?: object; readonly applied?: object };
  };
}

/** A pod without any right, on the first node where not said otherwise: a bridge connects the pods of its node. */
export const pod = (name: string, labels: Record<string, string> = {}, nodeName = 'n1'): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels },
  spec: podSpec(nodeName),
});

export const podSpec = (nodeName: string): object => ({
  nodeName,
  terminationGracePeriodSeconds: 1,
  containers: [
    {
      name: 'main',
      image: inject('toolsImage'),
      imagePullPolicy: 'Never',
      securityContext: { allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: { drop: ['ALL'] } },
    },
  ],
});

export const podConfig = (name: string, ...networkAttachments: object[]): object => ({
  apiVersion: 'podconfig.opdev.io/v1alpha1',
  kind: 'PodConfig',
  metadata: { name },
  spec: { networkAttachments },
});

export const podNetworkConfig = (name: string, spec: object): object => ({
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'PodNetworkConfig',
  metadata: { name },
  spec,
});

export const additionalNetwork = (name: string, spec: object): object => ({
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'AdditionalNetwork',
  metadata: { name },
  spec,
});

export const primaryNetwork = (name: string, spec: object): object => ({
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'PrimaryNetwork',
  metadata: { name },
  spec,
});

export const bridge = (name: string, spec: object): object => ({
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'Bridge',
  metadata: { name },
  spec,
});
