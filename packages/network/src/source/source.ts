/**
 * The form of a source: a kind of object from which the networks of pods are composed. One file a kind says which pods its objects choose and
 * what they ask for, in the words below; `registry.ts` lists them. All of it is pure: the operator reads the objects and writes their status.
 */
import type { AdditionalNetwork, Condition, Kind, KubeObject, Link, PodNetworkSpec, Resource } from '@podloom/api';
import type { CniWish } from '../cni/render.ts';

export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
  /** As far as a source reads them. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** Such a pod has no network of its own, and gets none. */
  readonly hostNetwork?: boolean | undefined;
  /** What the interfaces that it has are called, by key. Who names one for the first time may have to look; afterwards it stays. */
  readonly linkNames?: ReadonlyMap<string, string> | undefined;
}

export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly fieldPath?: string | undefined;
}

/** An object of any kind in the registry. */
export type SourceObject = KubeObject<unknown, { readonly conditions?: readonly Condition[] | undefined }>;

/** Who asks, and since when: the older wins. */
export interface Source {
  readonly ref: ObjectRef;
  readonly since: string;
}

export interface RangeRequest {
  readonly source: Source;
  readonly cidrs: readonly string[];
  readonly gateway?: string | undefined;
  readonly exclude: readonly string[];
}

export interface LinkRequest extends RangeRequest {
  /** Identity of the interface in its pod: see `key.ts`. */
  readonly key: string;
  readonly name?: string | undefined;
  readonly namePrefix?: string | undefined;
  readonly link: Link;
  /** A CNI plugin makes it. Such a link is on no bridge of ours. */
  readonly cni?: CniWish | undefined;
  /** Where it stands among those of its pod that are made one after the other. */
  readonly order?: number | undefined;
  readonly bridge?: string | undefined;
  readonly mtuBytes?: number | undefined;
  readonly macAddress?: string | undefined;
  readonly alias?: string | undefined;
  readonly addresses: readonly string[];
  readonly routes: NonNullable<AdditionalNetwork['spec']['routes']>;
}

export interface PrimaryRequest {
  readonly source: Source;
  readonly primary: Omit<NonNullable<PodNetworkSpec['primary']>, 'sources'>;
}

export interface BridgeRequest extends RangeRequest {
  readonly name: string;
  readonly mtuBytes?: number | undefined;
}

/** What keeps an object from having what it asks for. */
export interface Problem {
  readonly ref: ObjectRef;
  readonly reason: string;
  readonly message: string;
}

/** What an object asks for, whichever pods it is for. */
export interface Requests {
  readonly links?: readonly LinkRequest[] | undefined;
  readonly primaries?: readonly PrimaryRequest[] | undefined;
  readonly bridges?: readonly BridgeRequest[] | undefined;
  /** What was accepted and cannot be done. The rest is carried out. */
  readonly problems?: readonly Problem[] | undefined;
}

/** What an object asks for in one pod only. What a bridge is like must not depend on the pod, so such a link is on none. */
export interface PodRequests {
  readonly links?: readonly (LinkRequest & { readonly bridge?: undefined })[] | undefined;
  readonly primaries?: readonly PrimaryRequest[] | undefined;
  readonly problems?: readonly Problem[] | undefined;
}

interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

export type Phase = 'unset' | 'configuring' | 'configured';

/** What the operator has found, for the fields of a status that only this kind has. */
export interface Findings {
  readonly phase: Phase;
  /** Pods that it chooses, or that have a link on the bridge that it describes. */
  readonly pods: number;
  /** The lines of each pod, as far as an object has room for them. */
  readonly lists: readonly { readonly podName: string; readonly configList: readonly string[] }[];
  /** The bridge that it describes, on each node that has it. */
  readonly bridges: readonly {
    readonly nodeName: string;
    readonly device: string;
    readonly addresses: readonly string[];
    readonly ports: number;
  }[];
}

/** A row of the registry. */
export interface SourceType<T extends SourceObject = SourceObject> {
  readonly kind: Pick<Kind, 'group' | 'apiVersion' | 'kind' | 'plural'> & { readonly resource: Resource<T> };
  /**
   * Left out for kinds of other projects, on which nothing of ours is written but a status. Who waits for it looks at the PodNetworks of the object's own
   * namespace: it is for kinds that choose pods there.
   */
  readonly finalizer?: string;
  /** Annotations of pods that `namedBy` and `requestsIn` read. The operator keeps no others. */
  readonly annotations?: readonly string[];
  /** The objects of this kind that a pod names itself, by a label or an annotation. Throws InvalidInput for what cannot be read. */
  namedBy?(pod: PodIdentity): readonly ObjectName[];
  /** For kinds that no pod names: whether the object chooses this pod of its namespace. */
  selects?(object: T, pod: PodIdentity): boolean;
  /** The bridge that the object describes. Such an object is about the pods on it, whoever put them there. */
  describes?(object: T): string;
  /** Throws InvalidInput for texts that mean nothing. */
  requests(object: T): Requests;
  /** What the object gives a pod that names it. The pod is told if there is no such object. */
  requestsIn?(object: T, pod: PodIdentity): PodRequests;
  /** The fields of its status beside observedGeneration and conditions. Left out for kinds that have no status: their problems are told by Events. */
  report?(findings: Findings): object;
  /** The status has a phase, as those of upstream do. */
  readonly hasPhase?: true;
  /** Each pod has its lines in the status. */
  readonly hasLists?: true;
  /** What to do where no pod is chosen. */
  hint?(object: T): string;
}
