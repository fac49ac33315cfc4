/** The image of the process that holds a pod's namespaces: one static program and nothing else. */
import { InvalidInput } from '@podloom/api';
import { ensureOciArchive, type ImageArchive, readElf } from '@podloom/oci';
import { imageUser } from './base.ts';

export async function pauseImage(options: {
  readonly out: string;
  readonly name: string;
  /** A static program that sleeps, reaps and ends on SIGTERM. */
  readonly program: string;
}): Promise<ImageArchive & { readonly built: boolean }> {
  const { out, name, program } = options;
  if (readElf(program).interpreter) {
    throw new InvalidInput('PAUSE_PROGRAM', `${program} needs shared libraries; build it statically`);
  }
  const layers = [[{ path: 'pause', file: program, mode: 0o755 }]];
  return ensureOciArchive({ out, name, layers, config: { entrypoint: ['/pause'], user: imageUser } });
}
