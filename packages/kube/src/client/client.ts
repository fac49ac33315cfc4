/**
 * What the rest of the code sees of the API server: one interface, typed by the resource that a call names. Objects are the raw
 * JSON, field for field, so that what our types do not know survives a read and a write. Errors are translated (errors.ts).
 *
 * How the requests travel is in transport.ts; caches and controllers are built on top, elsewhere in this package.
 */
import type { KubeObject, ObjectMeta, Resource } from '@podloom/api';

export type { Resource };

export interface List<T> {
  apiVersion: string;
  kind: string;
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  items: T[];
}

/** A BOOKMARK carries only a resourceVersion (and perhaps annotations) in its object. */
export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly object: Bookmark };

export interface Bookmark {
  metadata: { resourceVersion: string; annotations?: Record<string, string> };
}

/** An object to be created: its type and kind follow from the resource, and the server can make up the name. */
export type Draft<T extends KubeObject> = Omit<T, 'apiVersion' | 'kind' | 'metadata'> & {
  apiVersion?: string;
  kind?: string;
  metadata: Omit<ObjectMeta, 'name'> & { name?: string };
};

/** Part of an object, for server-side apply: what is not mentioned is not ours. */
export type Applied<T extends KubeObject> = DeepPartial<Omit<T, 'metadata'>> & {
  metadata: Partial<ObjectMeta> & { name: string };
};

export type DeepPartial<T> = T extends readonly (infer I)[]
  ? DeepPartial<I>[]
  : T extends object
    ? { [K in keyof T]?: DeepPartial<T[K]> }
    : T;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}
export interface NamedOptions extends CallOptions {
  /** Default: the namespace of the kubeconfig's context, or of the pod. */
  readonly namespace?: string | undefined;
  readonly subresource?: string | undefined;
}
export interface SelectOptions extends CallOptions {
  /** Left out: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}
export interface ListOptions extends SelectOptions {
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan' | undefined;
}
export interface WatchOptions extends SelectOptions {
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: 'NotOlderThan' | undefined;
  readonly timeoutSeconds?: number | undefined;
  /** The server first sends what exists, then a bookmark with the annotation k8s.io/initial-events-end. */
  readonly sendInitialEvents?: boolean | undefined;
}
export interface WriteOptions extends NamedOptions {
  readonly dryRun?: boolean | undefined;
  readonly fieldManager?: string | undefined;
}
export interface PatchOptions extends WriteOptions {
  readonly type: 'merge' | 'json' | 'strategic';
}
export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Take over fields that another manager owns. Without it, such a field is a conflict. */
  readonly force?: boolean | undefined;
}
export interface DeleteOptions extends NamedOptions {
  /** Delete only the object that has this uid, not a later one of the same name. */
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground' | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly dryRun?: boolean | undefined;
}
export interface DeleteCollectionOptions extends SelectOptions {
  readonly propagationPolicy?: DeleteOptions['propagationPolicy'];
  readonly gracePeriodSeconds?: number | undefined;
}
export interface LogOptions extends CallOptions {
  readonly namespace?: string | undefined;
  readonly container?: string | undefined;
  readonly follow?: boolean | undefined;
  readonly previous?: boolean | undefined;
  readonly timestamps?: boolean | undefined;
  readonly tailLines?: number | undefined;
  readonly sinceSeconds?: number | undefined;
}
export interface ExecOptions extends CallOptions {
  readonly namespace?: string | undefined;
  readonly container?: string | undefined;
  readonly command: readonly string[];
  readonly stdin?: string | Uint8Array | undefined;
}
export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}
export interface RawRequest extends CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | undefined;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
}
export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface Client {
  /** The namespace that calls use when they name none. */
  readonly namespace: string;

  get<T extends KubeObject>(resource: Resource<T>, name: string, options?: NamedOptions): Promise<T>;
  /** One page, or everything where no limit is given. Items of built-in kinds get the apiVersion and kind that the server leaves out. */
  list<T extends KubeObject>(resource: Resource<T>, options?: ListOptions): Promise<List<T>>;
  /**
   * Ends when the server ends it (timeoutSeconds) or `signal` aborts; throws a translated error when the connection breaks or the
   * server sends an ERROR event (`isGone` for a resourceVersion that is too old). Bookmarks are always asked for.
   */
  watch<T extends KubeObject>(resource: Resource<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  create<T extends KubeObject>(resource: Resource<T>, object: Draft<T>, options?: WriteOptions): Promise<T>;
  /** Replaces the whole object; its resourceVersion must be the current one, else `isConflict`. */
  update<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(resource: Resource<T>, name: string, patch: unknown, options: PatchOptions): Promise<T>;
  /** Server-side apply: creates the object, or changes only the fields given. */
  apply<T extends KubeObject>(resource: Resource<T>, object: Applied<T>, options: ApplyOptions): Promise<T>;
  delete<T extends KubeObject>(resource: Resource<T>, name: string, options?: DeleteOptions): Promise<void>;
  /** Namespaced resources need a namespace: the server has no such call over all of them. */
  deleteCollection<T extends KubeObject>(resource: Resource<T>, options?: DeleteCollectionOptions): Promise<void>;

  logs(pod: string, options?: LogOptions): AsyncIterable<string>;
  exec(pod: string, options: ExecOptions): Promise<ExecResult>;

  /** For what is no resource: /readyz, /version, /apis, /openapi/v3. Translates errors like the others. */
  request(path: string, options?: RawRequest): Promise<RawResponse>;
  /** Cuts everything that still runs and closes the connections. */
  close(): Promise<void>;
}
