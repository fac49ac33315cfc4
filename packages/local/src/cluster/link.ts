/**
 * The one link that leads from the host into a cluster. Its routes go with it: without it, whoever connects to an address of the cluster
 * sends packets along the host's default route, out of the machine. So one looks before one connects.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterPlan } from './plan.ts';

export function isLinked({ hostLink }: Pick<ClusterPlan, 'hostLink'>): boolean {
  return existsSync(join('/sys/class/net', hostLink));
}
