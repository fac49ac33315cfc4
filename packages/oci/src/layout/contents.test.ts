import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { expect, it } from 'vitest';
import { contentsOf } from './contents.ts';
import { readElf } from './elf.ts';

it('strips a file to a shorter one that asks for the same libraries', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloom-elf-'));
  try {
    const target = join(folder, 'target');
    const contents = contentsOf({ path: 'x', file: process.execPath, stripped: true })!;
    await pipeline(contents.open(), createWriteStream(target));
    const { size } = await stat(target);
    expect(size).toBe(contents.sizeBytes);
    expect(size).toBeLessThan(contentsOf({ path: 'x', file: process.execPath })!.sizeBytes);
    expect(readElf(target)).toEqual(readElf(process.execPath));
  } finally {
    await rm(folder, { recursive: true });
  }
});
