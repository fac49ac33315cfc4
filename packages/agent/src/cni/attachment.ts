/** What one interface is that a CNI plugin makes, and how a failure of it is told. Plain data, as it stands in the journal. */
import type { PodInterface } from '@podloom/api';

export interface Attachment {
  /** Id of the pod's sandbox: CNI_CONTAINERID. */
  readonly sandboxId: string;
  /** Name in the pod: CNI_IFNAME. */
  readonly interfaceName: string;
  /** Key of the interface in the PodNetwork. */
  readonly key: string;
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly source: Pick<PodInterface['source'], 'apiVersion' | 'kind' | 'name'>;
  /** JSON text of a configuration list. DEL gets the text that ADD had, whatever became of the object since. */
  readonly config: string;
  readonly args: readonly { readonly name: string; readonly value: string }[];
  readonly capabilities: { readonly ips?: readonly string[] | undefined; readonly mac?: string | undefined };
  /** A process in the pod's network namespace, and the inode of that namespace, by which a reused number is told. */
  readonly netns: { readonly pid: number; readonly inode: number };
}

export type PluginCommand = 'ADD' | 'DEL' | 'CHECK';

export class PluginFailure extends Error {
  override readonly name = 'PluginFailure';
  readonly reason: string;
  /** Worth another try although nothing was changed. */
  readonly isRetryable: boolean;
  /** Of the error object that a plugin answers with. */
  readonly code: number | undefined;
  constructor(reason: string, message: string, { code, isRetryable = true }: PluginFailureOptions = {}) {
    super(message.slice(0, 2_048));
    this.reason = reason;
    this.code = code;
    this.isRetryable = isRetryable;
  }
}

interface PluginFailureOptions {
  readonly code?: number | undefined;
  readonly isRetryable?: boolean | undefined;
}

/** Refused before any plugin was started: nothing helps but another configuration. */
export const refused = (reason: string, message: string): PluginFailure =>
  new PluginFailure(reason, message, { isRetryable: false });
