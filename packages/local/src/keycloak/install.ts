/**
 * Gets Keycloak once, as its own project distributes it for Maven, and prepares it for the database that a private cluster uses. Only Java
 * is needed to run it; Maven only here.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Unavailable } from '@podloom/api';
import { type BuildProgress, cacheDir, exists, makeOnce } from '../binaries/once.ts';
import { run } from '../process/run.ts';

const version = '26.3.5';
const sha256 = '95756bdfd7540fafaf28874a8eb8d0d4c55977344a3b7821e9bd3a22bfb2b6a6';
const unpacker = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack';
const oldestJava = 17;
/** What a change of makes another Keycloak. */
const buildOptions = ['--db=dev-file'];

export interface InstallOptions {
  progress?: (event: BuildProgress) => void;
  signal?: AbortSignal;
}

/** The folder of a Keycloak that is ready to start. */
export async function ensureKeycloak({ progress, signal }: InstallOptions = {}): Promise<string> {
  await checkJava();
  const hash = createHash('sha256')
    .update(JSON.stringify([version, sha256, buildOptions]))
    .digest('hex');
  const folder = join(cacheDir(), 'bin', `keycloak-${version}-${hash.slice(0, 12)}`);
  const what = { module: 'keycloak', version, index: 1, total: 1 };
  const options = { folder, what, ...(progress && { progress }), ...(signal && { signal }) };
  return makeOnce(options, async (unfinished) => {
    const [repository, unpacked] = [join(unfinished, 'maven'), join(unfinished, 'unpacked')];
    await download(repository, unpacked, signal);
    const home = join(unpacked, `keycloak-${version}`);
    await run('sh', [join(home, 'bin', 'kc.sh'), 'build', ...buildOptions], signal && { signal });
    for (const dir of ['lib', 'conf', 'providers', 'themes']) await rename(join(home, dir), join(unfinished, dir));
    for (const dir of [repository, unpacked]) await rm(dir, { recursive: true });
  });
}

async function download(repository: string, unpacked: string, signal?: AbortSignal): Promise<void> {
  const artifact = `org.keycloak:keycloak-quarkus-dist:${version}:zip`;
  const options = {
    artifact,
    outputDirectory: unpacked,
    // Of its own, so that nothing stays in the user's.
    'maven.repo.local': repository,
  };
  const defined = Object.entries(options).map(([name, value]) => `-D${name}=${value}`);
  await run('mvn', ['-B', '-ntp', '-q', unpacker, ...defined], signal && { signal }).catch((cause: unknown) => {
    signal?.throwIfAborted();
    const advice = 'Maven is needed to get it (Debian package: maven)';
    throw new Unavailable('KEYCLOAK', `Keycloak ${version} could not be had. ${advice}: ${String(cause)}`, { cause });
  });
  const name = `keycloak-quarkus-dist-${version}.zip`;
  const archive = join(repository, 'org', 'keycloak', 'keycloak-quarkus-dist', version, name);
  const hash = createHash('sha256');
  if (await exists(archive)) await pipeline(createReadStream(archive), hash);
  if (hash.digest('hex') !== sha256) {
    throw new Unavailable('KEYCLOAK', `${name} has other contents than it should: it was changed on its way here`);
  }
}

async function checkJava(): Promise<void> {
  // It prints to stderr, of which only a failure is told; the settings come to stdout where they are asked for.
  const text = await run('java', ['--version']).catch(() => '');
  const found = /^\w+ (\d+)/m.exec(text)?.[1];
  if (Number(found ?? 0) >= oldestJava) return;
  const seen = found ? `Java is ${found}` : 'there is no Java';
  const advice = 'install the Debian package default-jre-headless';
  throw new Unavailable('NO_JAVA', `Keycloak needs Java ${oldestJava} or newer and ${seen}; ${advice}`);
}
