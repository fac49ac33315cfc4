/** What a Tenant may use: the sum over the workspaces, within the caps; or what the Tenant itself says, without caps. */
import { type Quantity, type Tenant, type TenantQuota, type WorkspaceQuota, quantityInNanos } from '@podloom/api';
import { capped, formatCpu, formatQuantity, sumOf } from '../quantity.ts';
import type { CountedEnrolment } from './enrolment.ts';

/** 0 caps nothing. */
export interface QuotaCaps {
  readonly cpu: number;
  /** Decimal gigabytes. */
  readonly memoryGiga: number;
  readonly instances: number;
}

export function tenantQuota(tenant: Tenant, counted: readonly CountedEnrolment[], caps: QuotaCaps): TenantQuota {
  const { quota: own, personalWorkspace } = tenant.spec;
  const granted = counted.map(({ workspace }) => workspace.spec.quota);
  const all = personalWorkspace ? [...granted, personalWorkspace] : granted;
  return {
    ...(own ? written(own) : summed(all, caps)),
    ...diskOf(all),
    ...otherResourcesOf(all),
  };
}

const written = ({ cpu, memory, instances }: TenantQuota) => ({
  cpu: formatCpu(quantityInNanos(cpu)),
  memory: formatQuantity(quantityInNanos(memory)),
  instances,
});

function summed(all: readonly WorkspaceQuota[], caps: QuotaCaps) {
  const instances = all.reduce((sum, quota) => sum + quota.instances, 0);
  const cpuCap = quantityInNanos(caps.cpu);
  const memoryCap = quantityInNanos(caps.memoryGiga) * 10n ** 9n;
  return {
    cpu: formatCpu(capped(sumOf(all.map(({ cpu }) => cpu)), cpuCap)),
    memory: formatQuantity(capped(sumOf(all.map(({ memory }) => memory)), memoryCap)),
    instances: caps.instances > 0 ? Math.min(instances, caps.instances) : instances,
  };
}

/** One workspace that does not limit it leaves the whole without limit. */
function diskOf(all: readonly WorkspaceQuota[]): { disk?: string } {
  const disks = all.map(({ disk }) => disk).filter((disk) => disk !== undefined);
  return disks.length > 0 && disks.length === all.length ? { disk: formatQuantity(sumOf(disks)) } : {};
}

function otherResourcesOf(all: readonly WorkspaceQuota[]): { otherResources?: Record<string, string> } {
  const byName = new Map<string, Quantity[]>();
  for (const { otherResources = {} } of all) {
    for (const [name, amount] of Object.entries(otherResources)) {
      byName.set(name, [...(byName.get(name) ?? []), amount]);
    }
  }
  if (byName.size === 0) return {};
  const sums = [...byName].map(([name, amounts]) => [name, formatQuantity(sumOf(amounts))] as const);
  return { otherResources: Object.fromEntries(sums) };
}

/** The mirror of the drive asks for one byte, and must not fail where disk space is limited. */
const roomForMirrors = 1_000n * 10n ** 9n;

/** The `spec.hard` of the ResourceQuota. */
export function hardQuota({ cpu, memory, instances, disk, otherResources = {} }: TenantQuota): Record<string, string> {
  const others = Object.entries(otherResources).map(([name, amount]) => [requestsOf(name), String(amount)] as const);
  return {
    'limits.cpu': String(cpu),
    'requests.cpu': String(cpu),
    'limits.memory': String(memory),
    'requests.memory': String(memory),
    'count/instances.crownlabs.polito.it': String(instances),
    ...(disk !== undefined && { 'requests.storage': formatQuantity(quantityInNanos(disk) + roomForMirrors) }),
    ...Object.fromEntries(others),
  };
}

/** Kubernetes counts extended resources, such as GPUs, by what is requested. */
const requestsOf = (name: string): string =>
  name.includes('/') && !/^(requests\.|limits\.|count\/)/.test(name) ? `requests.${name}` : name;
