/** Whether the personal namespace of a Tenant is kept: it costs quota and attention while nobody uses it. */
import type { Tenant } from '@podloom/api';

export interface KeepAlive {
  readonly keep: boolean;
  /** When the answer changes by itself, in milliseconds from now. */
  readonly againMs?: number | undefined;
}

/** `keepAliveMs` of 0 keeps it always. `isUsed`: there are instances in it (or templates of the personal workspace). */
export function keepAlive(tenant: Tenant, keepAliveMs: number, nowMs: number, isUsed: boolean): KeepAlive {
  if (keepAliveMs === 0) return { keep: true };
  const login = Date.parse(tenant.spec.lastLogin ?? '');
  const leftMs = Number.isNaN(login) ? 0 : login + keepAliveMs - nowMs;
  return leftMs >= 0 && !Number.isNaN(login) ? { keep: true, againMs: leftMs + 1 } : { keep: isUsed };
}
