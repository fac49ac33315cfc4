/** Sums and bounds of quantities, written as Kubernetes writes them, so that what is applied twice stays the same. */
import { type Quantity, quantityInNanos } from '@podloom/api';

const billion = 10n ** 9n;
const units: readonly (readonly [suffix: string, nanos: bigint])[] = [
  ['Ti', 1024n ** 4n * billion],
  ['Gi', 1024n ** 3n * billion],
  ['Mi', 1024n ** 2n * billion],
  ['G', 10n ** 9n * billion],
  ['M', 10n ** 6n * billion],
  ['', billion],
];

/** In the first unit that says it in whole numbers. */
export function formatQuantity(nanos: bigint): string {
  if (nanos === 0n) return '0';
  const unit = units.find(([, size]) => nanos % size === 0n);
  return unit ? `${nanos / unit[1]}${unit[0]}` : formatCpu(nanos);
}

/** CPUs are counted and not measured in bytes. */
export function formatCpu(nanos: bigint): string {
  const milli = (nanos + 10n ** 6n - 1n) / 10n ** 6n;
  return milli % 1000n === 0n ? `${milli / 1000n}` : `${milli}m`;
}

export const sumOf = (values: readonly Quantity[]): bigint =>
  values.reduce((sum, value) => sum + quantityInNanos(value), 0n);

/** A cap of 0 is none. */
export const capped = (nanos: bigint, cap: bigint): bigint => (cap > 0n && nanos > cap ? cap : nanos);
