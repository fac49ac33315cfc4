import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { inClusterConfig } from './in-cluster.ts';
import { loadConfig } from './load.ts';

async function folder(files: Readonly<Record<string, string>>): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
  onTestFinished(() => rm(path, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(path, name, '..'), { recursive: true });
    await writeFile(join(path, name), text);
  }
  return path;
}

const config = (server: string, user = '{}', cluster = '') => `
current-context: main
clusters: [{ name: c, cluster: { server: "${server}" ${cluster} } }]
contexts:
  - { name: main, context: { cluster: c, user: u, namespace: lab } }
  - { name: other, context: { cluster: c } }
users: [{ name: u, user: ${user} }]
`;

describe('loadConfig', () => {
  it('prefers the path given, then KUBECONFIG, then the home folder', async () => {
    const home = await folder({
      given: config('https://given'),
      variable: config('https://variable'),
      '.kube/config': config('https://home'),
    });
    const env = { HOME: home, KUBECONFIG: join(home, 'variable') };
    expect((await loadConfig({ path: join(home, 'given'), env })).server.host).toBe('given');
    expect((await loadConfig({ env })).server.host).toBe('variable');
    expect((await loadConfig({ env: { HOME: home } })).server.host).toBe('home');
  });

  it('merges the files of a KUBECONFIG list and skips those that are not there', async () => {
    const path = await folder({ a: 'users: [{ name: u, user: { token: t } }]', b: config('https://b') });
    const env = { KUBECONFIG: [join(path, 'missing'), join(path, 'a'), '', join(path, 'b')].join(delimiter) };
    const loaded = await loadConfig({ env });
    expect(loaded.server.host).toBe('b');
    expect(loaded.namespace).toBe('lab');
    expect(await loaded.credentials.get()).toEqual({ authorization: 'Bearer t' });
  });

  it('says where it looked when there is nothing', async () => {
    const home = await folder({});
    await expect(loadConfig({ env: { HOME: home } })).rejects.toThrow(join(home, '.kube/config'));
  });

  it('chooses another context by name, and names those that exist when it is wrong', async () => {
    const path = join(await folder({ c: config('https://c') }), 'c');
    expect((await loadConfig({ path, context: 'other' })).namespace).toBe('default');
    await expect(loadConfig({ path, context: 'nope' })).rejects.toThrow('no context "nope"; it has: main, other');
  });

  it('reads certificates from data and from files, anew for each connection', async () => {
    const data = Buffer.from('the key').toString('base64');
    const user = `{ client-certificate: me.crt, client-key-data: ${data} }`;
    const cluster = ', certificate-authority: ca.crt, tls-server-name: api, proxy-url: "http://proxy:3128"';
    const path = await folder({ c: config('https://c', user, cluster), 'ca.crt': 'ca 1', 'me.crt': 'me' });
    const loaded = await loadConfig({ path: join(path, 'c') });
    expect(loaded.proxy?.host).toBe('proxy:3128');
    expect(await loaded.tls()).toEqual({
      ca: 'ca 1',
      serverName: 'api',
      insecure: false,
      certificate: { cert: 'me', key: 'the key' },
    });
    await writeFile(join(path, 'ca.crt'), 'ca 2');
    expect((await loaded.tls()).ca).toBe('ca 2');
  });

  it('knows after a refusal whether the files of a certificate hold another one', async () => {
    const user = '{ client-certificate: me.crt, client-key: me.key }';
    const path = await folder({ c: config('https://c', user), 'me.crt': 'me', 'me.key': 'the key' });
    const { credentials } = await loadConfig({ path: join(path, 'c') });
    const first = await credentials.get();
    expect(credentials.renew(first)).toBe(false);
    expect(await credentials.get()).toBe(first);

    await writeFile(join(path, 'me.crt'), 'me again');
    await rm(join(path, 'me.key'));
    expect(credentials.renew(first)).toBe(false);
    await writeFile(join(path, 'me.key'), 'another key');
    expect(credentials.renew(first)).toBe(true);
    const second = await credentials.get();
    expect(second).toEqual({ certificate: { cert: 'me again', key: 'another key' } });
    // Refused as well, but later: what came after it need not be thrown away.
    expect(credentials.renew(first)).toBe(true);
    expect(await credentials.get()).toBe(second);
    expect(credentials.renew(second)).toBe(false);
  });

  it.each([
    ['{ token: a, tokenFile: /nowhere }', 'Bearer a'],
    ['{ username: me, password: pw }', `Basic ${Buffer.from('me:pw').toString('base64')}`],
    ['{}', undefined],
  ])('authenticates the user %s', async (user, authorization) => {
    const path = join(await folder({ c: config('https://c', user) }), 'c');
    expect((await (await loadConfig({ path })).credentials.get()).authorization).toBe(authorization);
  });

  it.each([
    ['an address that is none', config('nonsense'), 'server must be an address'],
    [
      'a proxy of an unknown kind',
      config('https://c', '{}', ', proxy-url: "gopher://me:hunter2@x"'),
      'proxy-url must be',
    ],
    ['an auth-provider', config('https://c', '{ auth-provider: { name: gcp } }'), 'use an exec plugin'],
    ['a plugin without a command', config('https://c', '{ exec: {} }'), 'exec has no command'],
    ['no current context', 'contexts: []', 'no current-context'],
  ])('refuses %s', async (_, text, message) => {
    const path = join(await folder({ c: text }), 'c');
    const failure: Error = await loadConfig({ path }).then(
      () => expect.unreachable(),
      (error: unknown) => error as Error,
    );
    expect(failure.message).toContain(message);
    expect(failure.message).not.toContain('hunter2');
  });
});

describe('inClusterConfig', () => {
  it('reads the service account, and its token again after a refusal', async () => {
    const path = await folder({ namespace: 'tools\n', 'ca.crt': 'ca', token: 'first\n' });
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
    const config = await inClusterConfig(env, path);
    expect(config.server.href).toBe('https://[fd00::1]:6443/');
    expect(config.namespace).toBe('tools');
    const first = await config.credentials.get();
    expect(first).toEqual({ authorization: 'Bearer first' });

    await writeFile(join(path, 'token'), 'second');
    expect(config.credentials.renew(first)).toBe(true);
    expect(await config.credentials.get()).toEqual({ authorization: 'Bearer second' });
  });

  it('is chosen inside a pod when no kubeconfig is named', async () => {
    const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443', HOME: '/nowhere' };
    await expect(loadConfig({ env })).rejects.toThrow('/var/run/secrets/kubernetes.io/serviceaccount');
  });
});
