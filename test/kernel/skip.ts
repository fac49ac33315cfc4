/** Skips the tests of a file that are not asked for. A file of which nothing is listed runs whole: it is there for this tier only. */
import { relative } from 'node:path';
import { beforeEach } from 'vitest';
import { only } from './only.ts';

/** The report of the host joins the parts of a name by a space, vitest itself by an arrow. */
const plain = (name: string): string => name.replaceAll(' > ', ' ');
const wanted = new Map(Object.entries(only() ?? {}).map(([file, names]) => [file, new Set(names.map(plain))]));

beforeEach(({ task, skip }) => {
  const names = wanted.get(relative(process.cwd(), task.file.filepath));
  if (names && !names.has(plain(task.fullTestName))) skip();
});
