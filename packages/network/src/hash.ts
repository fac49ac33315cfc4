/** FNV-1a, 64 bits: stable names and MACs from text, in browsers as well. Not for secrets; nobody gains by finding a collision with themselves. */
export function hash64(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash;
}
