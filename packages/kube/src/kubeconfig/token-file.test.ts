import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { tokenFileCredentials } from './token-file.ts';

it('reads the file again after a while, and not before', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'token-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'token');
  let now = 0;
  const source = tokenFileCredentials(path, () => now);

  await writeFile(path, 'first\n');
  expect(await source.get()).toEqual({ authorization: 'Bearer first' });
  await writeFile(path, 'second');
  now = 29_999;
  expect(await source.get()).toEqual({ authorization: 'Bearer first' });
  now = 30_000;
  expect(await source.get()).toEqual({ authorization: 'Bearer second' });
});

it('does not throw away a newer token because an older one was refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'token-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'token');
  const source = tokenFileCredentials(path, () => 0);
  await writeFile(path, 'first');
  const first = await source.get();
  source.renew(first);
  await writeFile(path, 'second');
  const second = await source.get();
  await writeFile(path, 'third');
  source.renew(first);
  expect(await source.get()).toBe(second);
});

it('names a file that is not there', async () => {
  await expect(tokenFileCredentials('/nowhere/token').get()).rejects.toThrow('/nowhere/token cannot be read');
});
