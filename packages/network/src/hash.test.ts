import { expect, it } from 'vitest';
import { hash64, hashText } from './hash.ts';

it.each([
  ['', 'cbf29ce484222325'],
  ['a', 'af63dc4c8601ec8c'],
  ['foobar', '85944171f73967e8'],
])('hashes "%s" as the published test vectors of FNV-1a have it', (text, hash) => {
  expect(hashText(text)).toBe(hash);
});

it('agrees with the plain definition over bigint', () => {
  const text = 'podloom pod 6f2c7a90-0000-4000-8000-000000000001 über/alles';
  const plain = new TextEncoder()
    .encode(text)
    .reduce((hash, byte) => BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n), 0xcbf29ce484222325n);
  expect(hash64(text)).toBe(plain);
});
