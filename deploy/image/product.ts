/**
 * The product's image: operators, agent and command line as one program, the Node that builds it, and the libraries that Node asks
 * for. No shell, no package manager, nothing that runs as root unless a pod says so.
 */
import { baseEntries, imageUser, sharedLibraries } from '@podloom/local';
import { ensureOciArchive, type ImageArchive, type ImageEntry } from '@podloom/oci';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { bundle } from './bundle.ts';

const home = 'opt/podloom';

export async function productImage(options: {
  readonly out: string;
  readonly name: string;
  /** The module that the image runs. */
  readonly entry: string;
}): Promise<ImageArchive & { readonly built: boolean }> {
  const node = process.execPath;
  const native = koffiEntries();
  const runtime: ImageEntry[] = [
    ...baseEntries(),
    { path: 'usr/bin/node', file: node, stripped: true, mode: 0o755 },
    ...native.entries,
    ...sharedLibraries(node, native.library),
  ];
  const program: ImageEntry[] = [
    ...(await bundle(options.entry, 'podloom')).map(({ name, text }) => ({
      path: `${home}/${name}`,
      text,
      mode: 0o755,
    })),
    { path: 'usr/bin/podloom', link: `/${home}/podloom.mjs` },
  ];
  return ensureOciArchive({
    out: options.out,
    name: options.name,
    layers: [runtime, program],
    config: {
      entrypoint: ['/usr/bin/podloom'],
      // One heap of malloc for all threads: one for each keeps 8 MB that nobody uses.
      env: { PATH: '/usr/bin', HOME: '/tmp', NODE_ENV: 'production', MALLOC_ARENA_MAX: '1' },
      user: imageUser,
      workingDir: '/tmp',
    },
    annotations: { 'org.opencontainers.image.title': 'podloom', 'org.opencontainers.image.licenses': 'Apache-2.0' },
  });
}

/**
 * koffi asks for its native package by name at run time, starting from the bundle; so it lies in a node_modules beside it, without
 * the variant for musl.
 */
function koffiEntries(): { library: string; entries: ImageEntry[] } {
  const require = createRequire(join(import.meta.dirname, '../../packages/netlink/package.json'));
  const name = `@koromix/koffi-linux-${process.arch}`;
  const folder = dirname(require.resolve(`${name}/package.json`));
  const binary = `linux_${process.arch}/koffi.node`;
  const files = ['package.json', 'index.js', binary];
  return {
    library: join(folder, binary),
    entries: files.map((file) => ({
      path: `${home}/node_modules/${name}/${file}`,
      file: join(folder, file),
      mode: 0o644,
    })),
  };
}
