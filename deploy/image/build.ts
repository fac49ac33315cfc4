/**
 * `make image`: writes the OCI archives of the product, of the tools image and of the SSH bastion into dist/, unless they are there already and
 * nothing in them has changed. With --out, --tools or --bastion only what is named, to that file.
 */
import { toolsImage } from '@podloom/local';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bastionImage } from './bastion.ts';
import { productImage } from './product.ts';

const root = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const option = { type: 'string' } as const;
const { values } = parseArgs({ options: { out: option, tools: option, bastion: option } });
const all = {
  out: join(root, 'dist/podloom-image.tar'),
  tools: join(root, 'dist/tools-image.tar'),
  bastion: join(root, 'dist/bastion-image.tar'),
};
const { out, tools, bastion }: Partial<typeof all> = Object.keys(values).length > 0 ? values : all;

try {
  if (out) {
    const entry = join(root, 'packages/cli/src/main.ts');
    report(await productImage({ out, name: `podloom.local/podloom:${version}`, entry }));
  }
  if (tools) report(await toolsImage({ out: tools, name: `podloom.local/tools:${version}` }));
  if (bastion) report(await bastionImage({ out: bastion, name: `podloom.local/bastion:${version}` }));
} catch (error) {
  console.error(`image: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

function report({ name, sizeBytes, digest, built }: Awaited<ReturnType<typeof productImage>>): void {
  console.log(`${name}  ${(sizeBytes / 1e6).toFixed(1)} MB  ${digest}${built ? '' : '  (unchanged)'}`);
}
