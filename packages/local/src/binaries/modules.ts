/**
 * The Go modules under `binaries/` and what comes out of them. Their go.mod files are the only place that names a
 * version, and their tools.go files the only place that names a package: both are read here, and together with the
 * build flags they make the key under which the result is kept.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Bug } from '@podloom/api';

export type ModuleName = 'kubernetes' | 'node' | 'coredns' | 'helm' | 'pause' | 'storage' | 'registry';

/**
 * The module whose version a module is known by, and the packages whose version the linker must be told. One with a program of our
 * own has a main.go in place of the list of packages.
 */
const described: Record<ModuleName, { main?: string; versionPackages?: readonly string[]; ownProgram?: true }> = {
  kubernetes: {
    main: 'k8s.io/kubernetes',
    versionPackages: ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'],
  },
  node: { main: 'github.com/containerd/containerd/v2' },
  coredns: { main: 'github.com/coredns/coredns' },
  helm: { main: 'helm.sh/helm/v3' },
  pause: { ownProgram: true },
  storage: { main: 'github.com/rancher/local-path-provisioner' },
  registry: { main: 'github.com/distribution/distribution/v3', ownProgram: true },
};

export interface GoModule {
  name: ModuleName;
  dir: string;
  /** Version of the main thing in it, for people. */
  version: string;
  /** The oldest Go that can build it. */
  goVersion: string;
  packages: string[];
  /** File names that a finished build has. */
  binaries: string[];
  ldflags: string;
  key: string;
}

const root = join(import.meta.dirname, '..', '..', 'binaries');

export async function readModule(name: ModuleName): Promise<GoModule> {
  const dir = join(root, name);
  const read = async (file: string) => readFile(join(dir, file), 'utf8');
  const goMod = await read('go.mod');
  const { main, versionPackages = [], ownProgram } = described[name];
  const source = await read(ownProgram ? 'main.go' : 'tools.go');
  const sums = main ? [await read('go.sum')] : [];

  const goVersion = /^go (\S+)$/m.exec(goMod)?.[1];
  if (!goVersion) throw new Bug('GO_MOD', `binaries/${name}/go.mod names no Go version`);
  const version = main ? requiredVersion(goMod, main) : 'v1';
  const packages = ownProgram ? ['.'] : importedPackages(source);
  const ldflags = ['-s', '-w', ...versionPackages.flatMap((path) => versionFlags(path, version))].join(' ');
  const hash = createHash('sha256')
    .update(JSON.stringify([goMod, ...sums, source, ldflags, renamed]))
    .digest('hex');
  return {
    name,
    dir,
    version,
    goVersion,
    packages,
    binaries: ownProgram ? [name] : packages.map(binaryName),
    ldflags,
    key: `${name}-${version}-${hash.slice(0, 12)}`,
  };
}

/** Go names a binary after the last element of its package path; etcd's is called "server". */
export const renamed: Record<string, string> = { server: 'etcd' };

function binaryName(packagePath: string): string {
  const last = basename(packagePath.replace(/\/v\d+$/, ''));
  return renamed[last] ?? last;
}

function importedPackages(toolsGo: string): string[] {
  return [...toolsGo.matchAll(/_ "([^"]+)"/g)].map((match) => match[1] ?? '');
}

function requiredVersion(goMod: string, module: string): string {
  const line = goMod.split('\n').find((text) =>
    text
      .replace(/^require\s+/, '')
      .trim()
      .startsWith(`${module} v`),
  );
  const version = line && /\s(v\S+)/.exec(line)?.[1];
  if (!version) throw new Bug('GO_MOD', `No version of ${module} in its go.mod`);
  return version;
}

/** Without these the parts of Kubernetes report v0.0.0 and the API server refuses the kubelet for its age. */
function versionFlags(packagePath: string, version: string): string[] {
  const [major, minor] = version.slice(1).split('.');
  const flags = [`-X ${packagePath}.gitVersion=${version}`];
  if (packagePath.includes('component-base')) {
    flags.push(`-X ${packagePath}.gitMajor=${major}`, `-X ${packagePath}.gitMinor=${minor}`);
  }
  return flags;
}
