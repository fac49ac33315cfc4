import { zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { elfOf, newestRelease } from './debian-kernel.ts';

describe('newestRelease', () => {
  it('orders releases by number and not by letter', () => {
    expect(newestRelease(['6.12.99+deb12-cloud-amd64', '6.12.115+deb12-cloud-amd64', '6.8.1-cloud-amd64'])).toBe(
      '6.12.115+deb12-cloud-amd64',
    );
  });

  it.each([
    ['a kernel without netkit', '6.1.0-54-cloud-amd64'],
    ['another flavour', '6.12.115+deb12-amd64'],
    ['an unsigned or debug package', '6.12.115+deb12-cloud-amd64-unsigned'],
    ['a download that was cut off', 'partial-6.12.115+deb12-cloud-amd64'],
    ['a package that only names another', '6.12-cloud-amd64'],
  ])('passes over %s', (_, name) => {
    expect(newestRelease([name])).toBeUndefined();
  });
});

describe('elfOf', () => {
  it('finds the compressed kernel behind the setup sectors and drops the size that follows it', () => {
    const kernel = Buffer.from('\x7fELF and the rest');
    const payload = Buffer.concat([zstdCompressSync(kernel), Buffer.alloc(4, 0xff)]);
    const [setupSectors, offset] = [3, 100];
    const image = Buffer.alloc((setupSectors + 1) * 512 + offset + payload.length + 50, 0xaa);
    image.writeUInt8(setupSectors, 0x1f1);
    image.writeUInt32LE(offset, 0x248);
    image.writeUInt32LE(payload.length, 0x24c);
    payload.copy(image, (setupSectors + 1) * 512 + offset);

    expect(elfOf(image)).toEqual(kernel);
  });
});
