/** Makes few files of a program and all that it imports. The only importer of esbuild. */
import { build } from 'esbuild';
import { basename, dirname } from 'node:path';

export interface BundledFile {
  /** Without a folder: all of them lie beside each other. */
  readonly name: string;
  readonly text: string;
}

/**
 * JavaScript of an entry file, named as given, with everything it imports except native modules. What is imported when needed is in files
 * of its own, so that a process holds in memory only what it uses. Names are kept, so that a stack trace still reads; licences are
 * kept at the end of each file.
 */
export async function bundle(entry: string, name: string): Promise<BundledFile[]> {
  const folder = dirname(entry);
  const result = await build({
    entryPoints: [{ in: entry, out: name }],
    // Paths in the result are relative to here: the same wherever the checkout lies.
    absWorkingDir: folder,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    write: false,
    platform: 'node',
    target: 'node26',
    format: 'esm',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'eof',
    logLevel: 'error',
    // CommonJS packages call require for Node's own modules, which an ES module does not have.
    banner: {
      js: "#!/usr/bin/node\nimport{createRequire as createRequireForBundle}from'node:module';const require=createRequireForBundle(import.meta.url);",
    },
  });
  return result.outputFiles.map(({ path, text }) => ({ name: basename(path), text }));
}
