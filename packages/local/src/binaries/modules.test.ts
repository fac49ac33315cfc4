import { describe, expect, it } from 'vitest';
import { isAtLeast } from './go.ts';
import { type ModuleName, readModule } from './modules.ts';

const allModules: readonly ModuleName[] = ['kubernetes', 'node', 'coredns', 'helm', 'pause', 'storage', 'registry'];

describe('readModule', () => {
  it('takes versions from go.mod and tells them to the linker', async () => {
    const kubernetes = await readModule('kubernetes');
    expect(kubernetes.version).toMatch(/^v1\.\d+\.\d+$/);
    expect(kubernetes.ldflags).toContain(`-X k8s.io/component-base/version.gitVersion=${kubernetes.version}`);
    expect(kubernetes.binaries).toEqual(
      expect.arrayContaining([
        'kube-apiserver',
        'kube-controller-manager',
        'kube-scheduler',
        'kubelet',
        'kube-proxy',
        'kubectl',
      ]),
    );
  });

  it('knows etcd by its name, not by that of its folder', async () => {
    const { binaries } = await readModule('node');
    expect(binaries).toContain('etcd');
    expect(binaries).not.toContain('server');
  });

  it('takes a program of our own for what its folder is called', async () => {
    expect(await readModule('registry')).toMatchObject({ packages: ['.'], binaries: ['registry'] });
    expect((await readModule('storage')).binaries).toEqual(['local-path-provisioner']);
  });

  it('keeps each module under a key of its own that names its version', async () => {
    const modules = await Promise.all(allModules.map(readModule));
    expect(new Set(modules.map(({ key }) => key)).size).toBe(allModules.length);
    for (const { key, name, version } of modules) expect(key.startsWith(`${name}-${version}-`)).toBe(true);
  });
});

describe('isAtLeast', () => {
  it.each([
    ['1.26.8', '1.26.8', true],
    ['1.27', '1.26.8', true],
    ['1.27rc1', '1.26', true],
    ['1.26.7', '1.26.8', false],
    ['1.9', '1.26', false],
  ])('compares Go %s with %s', (version, needed, answer) => {
    expect(isAtLeast(version, needed)).toBe(answer);
  });
});
