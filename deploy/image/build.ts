/**
 * `make image`: writes the OCI archives of the product and of the tools image into dist/, unless they are there already and nothing
 * in them has changed. With --out or --tools only what is named, to that file.
 */
import { toolsImage } from '@podloom/local';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { productImage } from './product.ts';

const root = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const { values } = parseArgs({ options: { out: { type: 'string' }, tools: { type: 'string' } } });
const { out, tools } =
  values.out || values.tools
    ? values
    : { out: join(root, 'dist/podloom-image.tar'), tools: join(root, 'dist/tools-image.tar') };

try {
  if (out) {
    const entry = join(root, 'packages/cli/src/main.ts');
    report(await productImage({ out, name: `podloom.local/podloom:${version}`, entry }));
  }
  if (tools) report(await toolsImage({ out: tools, name: `podloom.local/tools:${version}` }));
} catch (error) {
  console.error(`image: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

function report({ name, sizeBytes, digest, built }: Awaited<ReturnType<typeof productImage>>): void {
  console.log(`${name}  ${(sizeBytes / 1e6).toFixed(1)} MB  ${digest}${built ? '' : '  (unchanged)'}`);
}
