/** Runs the commands of an example's README as a reader would, one after another, with real kubectl. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { binaries, clusterLoad, toolsImage } from '@podloom/local';
import { inject } from 'vitest';

const root = join(import.meta.dirname, '../..');

export interface Result {
  readonly code: number;
  readonly output: string;
}

export interface Reader {
  /** Runs the next line of the README, which must have these words in it: the test reads along. */
  next(words: string): Promise<string>;
  /** As `next`, for a line that the README says is refused. */
  nextFails(words: string): Promise<string>;
  /** Lines that were not run. */
  readonly left: readonly string[];
  /** Any other command, with the README's variables. */
  shell(command: string): Promise<Result>;
}

/** The image that the examples name. */
export async function loadExampleImage(): Promise<void> {
  const archive = join(root, 'dist/tools-image.tar');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  await toolsImage({ out: archive, name: `podloom.local/tools:${version}` });
  await clusterLoad({ name: inject('clusterName'), archive });
}

export async function readerOf(example: string): Promise<Reader> {
  const text = readFileSync(join(root, 'examples', example, 'README.md'), 'utf8');
  const lines = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) => (block ?? '').trim().split('\n'));
  const built = await binaries({ modules: ['kubernetes', 'helm'] });
  const path = `${built.searchPath}:${process.env['PATH']}`;
  const env = { ...process.env, PATH: path, KUBECONFIG: inject('kubeconfig') };
  const variables: string[] = [];

  const shell = (command: string): Promise<Result> =>
    new Promise((resolve) => {
      const script = [...variables, command].join('\n');
      execFile('sh', ['-c', script], { cwd: root, env }, (error, stdout, stderr) => {
        resolve({ code: error ? (typeof error.code === 'number' ? error.code : 1) : 0, output: stdout + stderr });
      });
    });

  async function step(words: string): Promise<Result & { line: string }> {
    let line = lines.shift() ?? '';
    while (/^\w+=(\S+|\$\(.*\))$/.test(line)) {
      variables.push(line);
      line = lines.shift() ?? '';
    }
    if (!line.includes(words)) throw new Error(`The README goes on with "${line}", not with "${words}"`);
    return { line, ...(await shell(line)) };
  }

  return {
    shell,
    async next(words) {
      const { line, code, output } = await step(words);
      if (code !== 0) throw new Error(`${line}\n${output}`);
      return output;
    },
    async nextFails(words) {
      const { line, code, output } = await step(words);
      if (code === 0) throw new Error(`${line}\nwas to fail, and printed:\n${output}`);
      return output;
    },
    get left() {
      return lines;
    },
  };
}
