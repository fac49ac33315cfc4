import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { stampFor } from './stamp.ts';

function checkout() {
  const folder = mkdtempSync(join(tmpdir(), 'podloom-stamp-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const root = join(folder, 'checkout');
  const write = (path: string, text: string): void => {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  return { write, stamp: () => stampFor('local', root, ['packages/local', 'lock.json'], join(folder, 'cache')) };
}

it('is green once the tests were, until something that they depend on changes', () => {
  const { write, stamp } = checkout();
  write('packages/local/src/a.ts', 'one');
  expect(stamp().isGreen).toBe(false);
  stamp().set();
  expect(stamp().isGreen).toBe(true);
  write('packages/other/src/a.ts', 'other');
  write('packages/local/node_modules/x.js', 'installed');
  expect(stamp().isGreen).toBe(true);
  write('packages/local/src/a.ts', 'two');
  expect(stamp().isGreen).toBe(false);
  write('packages/local/src/a.ts', 'one');
  expect(stamp().isGreen).toBe(true);
  write('lock.json', '{}');
  expect(stamp().isGreen).toBe(false);
});

it('notices a file that changes its name', () => {
  const { write, stamp } = checkout();
  write('packages/local/src/a.ts', 'one');
  stamp().set();
  write('packages/local/src/b.ts', 'one');
  expect(stamp().isGreen).toBe(false);
});
