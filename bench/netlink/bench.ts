/**
 * Attaching pods to a bridge, against the tools that are used for it elsewhere and against a floor in C. The measuring is done by
 * `measure.ts`, in a child that has network and mount namespaces of its own, so that nothing of this machine is touched and everything
 * is gone when it ends.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { binaries } from '@podloom/local';
import type { Bench, Report } from '../report.ts';

export const bench: Bench = {
  async run(progress) {
    const folder = mkdtempSync(join(tmpdir(), 'podloom-bench-'));
    try {
      execFileSync('cc', ['-O2', '-o', join(folder, 'floor'), resolve(import.meta.dirname, 'floor.c')], {
        stdio: 'inherit',
      });
      const built = await binaries({
        modules: ['node'],
        progress: ({ done }) => done || progress('building the CNI plugins'),
      });
      for (const name of ['bridge', 'host-local']) symlinkSync(built.path(name), join(folder, name));
      const command = [process.execPath, resolve(import.meta.dirname, 'measure.ts'), folder];
      const child = spawn('unshare', ['--net', '--mount', ...command], { stdio: ['ignore', 'inherit', 'inherit'] });
      const [code] = (await once(child, 'exit')) as [number | null];
      if (code !== 0) throw new Error(`Measuring netlink ended with ${code ?? 'a signal'}`);
      return JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as Report;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
