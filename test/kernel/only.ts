/** Which tests of the node tier the test machine runs, where that is not all: what the host skipped. The list comes into the machine with the sources. */
import { existsSync, readFileSync } from 'node:fs';

export const onlyFile = 'test/kernel/only.json';

/** Full names by file. Undefined: all of them. */
export const only = (): Readonly<Record<string, readonly string[]>> | undefined =>
  existsSync(onlyFile)
    ? (JSON.parse(readFileSync(onlyFile, 'utf8')) as Readonly<Record<string, readonly string[]>>)
    : undefined;
