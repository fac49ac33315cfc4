import { describe, expect, it } from 'vitest';
import { mergeKubeconfigs, parseKubeconfig } from './file.ts';

const config = (name: string, server: string, current = '') => `
apiVersion: v1
kind: Config
current-context: ${current}
clusters: [{ name: ${name}, cluster: { server: ${server} } }]
contexts: [{ name: ${name}, context: { cluster: ${name}, user: u } }]
users: [{ name: u, user: { token: "${name}" } }]
`;

describe('mergeKubeconfigs', () => {
  it('lets the first file win that names something', () => {
    const merged = mergeKubeconfigs([
      parseKubeconfig(config('a', 'https://first'), '/1'),
      parseKubeconfig(config('a', 'https://second', 'a'), '/2'),
      parseKubeconfig(config('b', 'https://third', 'b'), '/3'),
    ]);
    expect(merged.currentContext).toBe('a');
    expect(merged.clusters.get('a')?.server).toBe('https://first');
    expect(merged.clusters.get('b')?.server).toBe('https://third');
    expect(merged.users.get('u')?.token).toBe('a');
  });
});

describe('parseKubeconfig', () => {
  it('takes relative paths from the folder of the file that has them', () => {
    const text = `
clusters: [{ name: c, cluster: { certificate-authority: pki/ca.crt } }]
users:
  - { name: files, user: { client-certificate: a.crt, client-key: /abs/a.key, tokenFile: ../token } }
  - { name: plugin, user: { exec: { command: ./bin/login } } }
  - { name: onPath, user: { exec: { command: login } } }
`;
    const { clusters, users } = parseKubeconfig(text, '/home/me/.kube/config');
    expect(clusters.get('c')?.['certificate-authority']).toBe('/home/me/.kube/pki/ca.crt');
    expect(users.get('files')).toEqual({
      'client-certificate': '/home/me/.kube/a.crt',
      'client-key': '/abs/a.key',
      tokenFile: '/home/me/token',
    });
    expect(users.get('plugin')?.exec?.command).toBe('/home/me/.kube/bin/login');
    expect(users.get('onPath')?.exec?.command).toBe('login');
  });

  it.each([
    ['an empty file', ''],
    ['null lists, as kubectl writes them', 'clusters: null\ncontexts: null\nusers: null\n'],
  ])('reads %s as nothing', (_, text) => {
    expect(parseKubeconfig(text, '/x').contexts.size).toBe(0);
  });

  it('says where broken YAML is, without repeating the line', () => {
    const broken = 'users:\n  - name: a\n    user: { token: "hunter2\n';
    expect(() => parseKubeconfig(broken, '/x')).toThrow(/^\/x is not valid YAML near line \d+$/);
  });

  it.each(['just text', 'clusters: { a: b }'])('refuses what is no kubeconfig: %s', (text) => {
    expect(() => parseKubeconfig(text, '/x')).toThrow(/\/x/);
  });
});
