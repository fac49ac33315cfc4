import { InvalidInput } from '@podloom/api';
import { execFileSync } from 'node:child_process';
import { copyFile, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createWriteStream } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { contentsOf } from './contents.ts';
import { readElf } from './elf.ts';
import { sharedLibraries } from './libraries.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloom-elf-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe('sharedLibraries', () => {
  it('finds for this Node what the loader itself would load', () => {
    // The loader lists and does not start the program: what ldd(1) does.
    const env = { LD_TRACE_LOADED_OBJECTS: '1' };
    const listed = execFileSync(process.execPath, { encoding: 'utf8', env });
    const expected = [...listed.matchAll(/^\t(\S+) /gm)]
      .map(([, name]) => basename(name!))
      .filter((n) => !n.includes('vdso'));
    const found = sharedLibraries(process.execPath).map(({ path }) => basename(path));
    expect(found.toSorted()).toEqual(expected.toSorted());
  });

  it('keeps the loader at the path that the program names', () => {
    const { interpreter } = readElf(process.execPath);
    expect(sharedLibraries(process.execPath).map(({ path }) => `/${path}`)).toContain(interpreter);
  });

  it.each([
    ['a script', '#!/bin/sh\n'.repeat(20)],
    ['an empty file', ''],
    ['a header and nothing more', `\x7fELF\x02\x01${'\0'.repeat(26)}\xff\xff${'\0'.repeat(22)}\x08${'\0'.repeat(30)}`],
  ])('refuses %s', async (_, text) => {
    const file = join(folder, 'x');
    await writeFile(file, text, 'latin1');
    expect(() => sharedLibraries(file)).toThrow(InvalidInput);
  });
});

describe('a stripped file', () => {
  it('is shorter and asks for the same libraries', async () => {
    const source = join(folder, 'source');
    const target = join(folder, 'target');
    await copyFile(sharedLibraries(process.execPath).map((entry) => ('file' in entry ? entry.file : ''))[0]!, source);
    const contents = contentsOf({ path: 'x', file: source, stripped: true })!;
    await pipeline(contents.open(), createWriteStream(target));
    const handle = await open(target);
    const { size } = await handle.stat();
    await handle.close();
    expect(size).toBe(contents.sizeBytes);
    expect(size).toBeLessThan(contentsOf({ path: 'x', file: source })!.sizeBytes);
    expect(readElf(target)).toEqual(readElf(source));
  });
});
