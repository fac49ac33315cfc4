/** Builds an image only when something that goes into it has changed, so that a second `make up` does not wait for it. */
import { createHash } from 'node:crypto';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { contentsOf } from './contents.ts';
import { planEntries } from './entries.ts';
import { compressionLevel, imagePlatform, writeOciArchive, type ImageArchive, type ImageOptions } from './archive.ts';

interface Receipt extends Omit<ImageArchive, 'out'> {
  /** Hash of everything that the archive was made from. */
  readonly inputs: string;
}

/** As writeOciArchive, unless the archive is there and was made from the same contents. Remembers that in `OUT.json`. */
export async function ensureOciArchive(options: ImageOptions): Promise<ImageArchive & { readonly built: boolean }> {
  const out = resolve(options.out);
  const receiptFile = `${out}.json`;
  const inputs = await inputsHash(options);
  const known = await readReceipt(receiptFile);
  if (known?.inputs === inputs && (await sizeOf(out)) === known.sizeBytes) {
    return { out, name: known.name, digest: known.digest, sizeBytes: known.sizeBytes, built: false };
  }
  // Without its receipt first: a crash in between must not leave a new archive with an old receipt.
  await rm(receiptFile, { force: true });
  const { name, digest, sizeBytes } = await writeOciArchive(options);
  await writeFile(receiptFile, `${JSON.stringify({ name, digest, sizeBytes, inputs } satisfies Receipt, null, 2)}\n`);
  return { out, name, digest, sizeBytes, built: true };
}

async function inputsHash({ name, layers, config, annotations }: ImageOptions): Promise<string> {
  const hash = createHash('sha256');
  const add = (value: unknown): void => void hash.update(`${JSON.stringify(value)}\n`);
  add([name, config, annotations, imagePlatform(), compressionLevel, process.versions['zstd'], await ownSource()]);
  for (const layer of layers) {
    for (const entry of planEntries(layer)) {
      const contents = contentsOf(entry);
      add([
        entry.path,
        'link' in entry && entry.link,
        contents?.mode ?? ('mode' in entry && entry.mode),
        contents?.sizeBytes,
      ]);
      if (contents) for await (const chunk of contents.open()) hash.update(chunk as Buffer);
    }
    add('end of layer');
  }
  return hash.digest('hex');
}

/** What writes the archive is an input of it, too. */
async function ownSource(): Promise<string[]> {
  const files = ['archive.ts', 'tar.ts', 'entries.ts', 'contents.ts', 'elf.ts'];
  return Promise.all(files.map((file) => readFile(new URL(file, import.meta.url), 'utf8')));
}

async function readReceipt(file: string): Promise<Receipt | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Receipt;
  } catch {
    return undefined; // Absent or damaged: either way the archive is made again.
  }
}

async function sizeOf(file: string): Promise<number | undefined> {
  return stat(file).then(
    ({ size }) => size,
    () => undefined,
  );
}
