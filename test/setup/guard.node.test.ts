/** Needs root, as every cluster does. What stands in for one is what it leaves when nobody takes it down: a folder and a link. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventually } from './eventually.ts';

const name = `g${process.pid}`;
const left = (folder: string): string[] =>
  [folder, `/var/lib/podloom/${name}`, `/sys/class/net/pl-${name}`].filter((path) => existsSync(path));

/** A process that has made a cluster, and takes it down when it is told to. */
async function owner() {
  const folder = mkdtempSync(join(tmpdir(), 'podloom-guard-'));
  const code = `
    import { guardCluster } from '${join(import.meta.dirname, 'guard.ts')}';
    const remove = guardCluster('${name}', '${folder}');
    process.on('message', () => remove().then(() => process.send('removed')));
    process.send('guarded');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  mkdirSync(`/var/lib/podloom/${name}`, { recursive: true });
  execFileSync('ip', ['link', 'add', `pl-${name}`, 'type', 'bridge']);
  const guard = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim();
  expect(guard).toMatch(/^\d+$/);
  return { child, folder, guard };
}

it('takes the cluster down when its owner is killed', async () => {
  const { child, folder, guard } = await owner();
  expect(left(folder)).toHaveLength(3);
  child.kill('SIGKILL');
  await eventually(() => expect(left(folder)).toEqual([]));
  await eventually(() => expect(existsSync(`/proc/${guard}`)).toBe(false));
});

it('keeps nobody waiting, and has nothing to do, when its owner has taken the cluster down', async () => {
  const { child, folder, guard } = await owner();
  child.send('remove');
  await once(child, 'message');
  expect(left(folder)).toEqual([]);
  await eventually(() => expect(existsSync(`/proc/${guard}`)).toBe(false));
  child.disconnect();
  expect(await once(child, 'exit')).toEqual([0, null]);
});
