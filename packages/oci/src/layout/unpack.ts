/** Lays an image out as a folder, to look into it or to run its programs with chroot(8). */
import { InvalidImage } from '../errors.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import { inspectOciArchive } from './inspect.ts';
import { readTar } from './tar.ts';

/** Unpacks the layers of an archive of ours with the system's tar, lowest first. Owners stay root's where the caller is root. */
export async function unpackOciArchive(archive: string, folder: string): Promise<void> {
  const { layers } = await inspectOciArchive(archive);
  await mkdir(folder, { recursive: true });
  for (const digest of layers) {
    for await (const { path, body } of readTar(createReadStream(archive))) {
      if (path === `blobs/${digest.replace(':', '/')}`) await unpackLayer(body, folder);
    }
  }
}

async function unpackLayer(layer: AsyncIterable<Buffer>, folder: string): Promise<void> {
  const tar = spawn('tar', ['-x', '-p', '-C', folder], { stdio: ['pipe', 'ignore', 'inherit'] });
  const closed = once(tar, 'close');
  await pipeline(layer, createZstdDecompress(), tar.stdin);
  const [code] = (await closed) as [number | null];
  if (code !== 0) throw new InvalidImage('UNPACK', `tar could not unpack a layer into ${folder} (exit code ${code})`);
}
