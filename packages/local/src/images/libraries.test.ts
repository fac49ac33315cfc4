import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InvalidImage, readElf } from '@podloom/oci';
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
    expect(() => sharedLibraries(file)).toThrow(InvalidImage);
  });
});
