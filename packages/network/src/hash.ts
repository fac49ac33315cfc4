/**
 * FNV-1a, 64 bits: stable names and MACs from text, in browsers as well. In two halves of 32 bits, because bigint would make it the
 * slowest part of a plan. Not for secrets, and easily collided on purpose: where two tenants could meet, callers look for the other.
 */
export function hash64(text: string): bigint {
  let [high, low] = [0xcbf29ce4, 0x84222325];
  for (const byte of new TextEncoder().encode(text)) {
    low = (low ^ byte) >>> 0;
    // The prime is 2^40 + 0x1b3.
    const product = low * 0x1b3;
    high = (high * 0x1b3 + Math.floor(product / 2 ** 32) + ((low << 8) >>> 0)) % 2 ** 32;
    low = product % 2 ** 32;
  }
  return (BigInt(high) << 32n) | BigInt(low);
}

/** As 16 hexadecimal digits. */
export const hashText = (text: string): string => hash64(text).toString(16).padStart(16, '0');
