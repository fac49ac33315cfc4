/** Makes one file of the command line and all that it imports. The only importer of esbuild. */
import { build } from 'esbuild';
import { dirname } from 'node:path';

/**
 * JavaScript of an entry file with everything it imports, except native modules. Names are kept, so that a stack trace still reads;
 * licences are kept at the end.
 */
export async function bundle(entry: string): Promise<string> {
  const result = await build({
    entryPoints: [entry],
    // Paths in the result are relative to here: the same wherever the checkout lies.
    absWorkingDir: dirname(entry),
    bundle: true,
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
  const [output] = result.outputFiles;
  return output!.text;
}
