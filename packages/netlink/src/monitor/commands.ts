/** What the two threads of a monitor say to each other. */

/** To the worker, which owns the descriptors from then on. */
export type Command =
  | { readonly do: 'add'; readonly key: number; readonly socket: number; readonly life: Life | undefined }
  | { readonly do: 'remove'; readonly key: number }
  | { readonly do: 'stop' };

/** How the end of a namespace shows: a process ends, or a file is no longer that namespace. */
export type Life =
  { readonly pidfd: number } | { readonly path: string; readonly device: number; readonly inode: number };

/** From the worker. Datagrams are copies, and travel without another one. */
export type Report =
  | { readonly key: number; readonly datagrams: readonly Uint8Array<ArrayBuffer>[]; readonly overflowed: boolean }
  | { readonly key: number; readonly gone: true };
