/** A request before it is bytes, and the numbers that every family shares. */
import type { Message } from '../codec/message.ts';

export const NLM_F_REQUEST = 0x1;
export const NLM_F_MULTI = 0x2;
export const NLM_F_ACK = 0x4;
export const NLM_F_ECHO = 0x8;
export const NLM_F_DUMP_INTR = 0x10;
export const NLM_F_CAPPED = 0x100;
export const NLM_F_ACK_TLVS = 0x200;
export const NLM_F_ROOT = 0x100;
export const NLM_F_MATCH = 0x200;
export const NLM_F_DUMP = NLM_F_ROOT | NLM_F_MATCH;
export const NLM_F_REPLACE = 0x100;
export const NLM_F_EXCL = 0x200;
export const NLM_F_CREATE = 0x400;
export const NLM_F_APPEND = 0x800;
/** For deletions: everything that matches. */
export const NLM_F_BULK = 0x200;

export const NLMSG_ERROR = 2;
export const NLMSG_DONE = 3;

export interface Request<In = unknown> {
  /** For errors: `link.add`. */
  readonly operation: string;
  readonly type: number;
  /** Beyond NLM_F_REQUEST. */
  readonly flags: number;
  readonly message: Message<unknown, In>;
  readonly body: In;
}

/** Ties body and message together for the compiler, then forgets which they were. */
export function request<In>(
  operation: string,
  type: number,
  flags: number,
  message: Message<unknown, In>,
  body: NoInfer<In>,
): Request {
  return { operation, type, flags, message: message, body };
}
