import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { replaceFile } from './key-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloom-keys-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('replaceFile', () => {
  it('puts a new file in the place of the old one, and leaves nothing beside it', async () => {
    const path = join(folder, 'authorized_keys');
    expect(await replaceFile(path, 'one\n')).toBe(true);
    const { ino } = await stat(path);
    expect(await replaceFile(path, 'two\n')).toBe(true);
    expect((await stat(path)).ino).not.toBe(ino);
    expect(await readFile(path, 'utf8')).toBe('two\n');
    expect(await readdir(folder)).toEqual(['authorized_keys']);
  });

  it('touches nothing where nothing changed', async () => {
    const path = join(folder, 'authorized_keys');
    await replaceFile(path, 'one\n');
    const { ino } = await stat(path);
    expect(await replaceFile(path, 'one\n')).toBe(false);
    expect((await stat(path)).ino).toBe(ino);
  });

  it('says which file cannot be written', async () => {
    const path = join(folder, 'missing', 'authorized_keys');
    await expect(replaceFile(path, '')).rejects.toThrow(`${path} cannot be written`);
  });
});
