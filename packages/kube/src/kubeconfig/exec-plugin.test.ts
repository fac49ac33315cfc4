import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { execPluginCredentials, type ExecPlugin } from './exec-plugin.ts';

const apiVersion = 'client.authentication.k8s.io/v1';

/** A plugin that writes down each run with what it was told, and prints what the script says. */
async function plugin(script: string, given: Partial<ExecPlugin> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'exec-plugin-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const runs = join(folder, 'runs');
  await writeFile(runs, '');
  const source = `
    const fs = require('node:fs');
    fs.appendFileSync(${JSON.stringify(runs)}, process.env.KUBERNETES_EXEC_INFO + '\\n');
    const run = fs.readFileSync(${JSON.stringify(runs)}, 'utf8').trim().split('\\n').length;
    const answer = (status) => console.log(JSON.stringify({ apiVersion: '${apiVersion}', kind: 'ExecCredential', status }));
    ${script}`;
  return {
    plugin: {
      command: process.execPath,
      args: ['-e', source],
      env: {},
      apiVersion,
      interactiveMode: 'Never',
      ...given,
    } satisfies ExecPlugin,
    runs: async () =>
      (await readFile(runs, 'utf8'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
  };
}

const numberedTokens = `answer({ token: 'token-' + run, expirationTimestamp: '2030-01-01T00:00:00Z' })`;
const expiry = Date.parse('2030-01-01T00:00:00Z');

describe('execPluginCredentials', () => {
  it('runs once for many calls, and again when the answer expires', async () => {
    const made = await plugin(numberedTokens);
    let now = expiry - 60_000;
    const source = execPluginCredentials(made.plugin, () => now);
    const answers = await Promise.all(Array.from({ length: 10 }, () => source.get()));
    expect(new Set(answers.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer token-1']));

    now = expiry;
    expect((await source.get()).authorization).toBe('Bearer token-2');
    expect(await made.runs()).toHaveLength(2);
  });

  it('runs again once, however many calls were refused with the same token', async () => {
    const made = await plugin(numberedTokens);
    const source = execPluginCredentials(made.plugin, () => 0);
    const refused = await source.get();
    const renewed = await Promise.all(
      Array.from({ length: 5 }, () => {
        source.renew(refused);
        return source.get();
      }),
    );
    expect(renewed.map(({ authorization }) => authorization)).toEqual(
      Array.from({ length: 5 }, () => 'Bearer token-2'),
    );
    source.renew(refused);
    expect((await source.get()).authorization).toBe('Bearer token-2');
  });

  it('tells the plugin about the cluster and gives it its environment', async () => {
    const cluster = { server: 'https://c', config: { audience: 'x' } };
    const made = await plugin(`answer({ token: process.env.FLAVOUR })`, { env: { FLAVOUR: 'sweet' }, cluster });
    expect(await execPluginCredentials(made.plugin).get()).toEqual({ authorization: 'Bearer sweet' });
    expect(await made.runs()).toEqual([{ apiVersion, kind: 'ExecCredential', spec: { interactive: false, cluster } }]);
  });

  it('takes a certificate with its key as well', async () => {
    const made = await plugin(`answer({ clientCertificateData: 'C', clientKeyData: 'K' })`);
    expect(await execPluginCredentials(made.plugin).get()).toEqual({ certificate: { cert: 'C', key: 'K' } });
  });

  it.each([
    ['fails', `console.log('hunter2'); process.exit(3)`, 'failed with 3'],
    ['prints no JSON', `console.log('hunter2')`, 'did not print an ExecCredential'],
    ['prints half a certificate', `answer({ clientCertificateData: 'hunter2' })`, 'did not print an ExecCredential'],
    [
      'prints a bad time',
      `answer({ token: 'hunter2', expirationTimestamp: 'soon' })`,
      'expirationTimestamp is no time',
    ],
  ])('that %s is an error without its output, and is tried again', async (_, script, message) => {
    const made = await plugin(`if (run > 1) answer({ token: 'good' }); else { ${script} }`);
    const source = execPluginCredentials({ ...made.plugin, args: [...made.plugin.args, '--', '--secret=hunter2'] });
    const failure: Error = await source.get().then(
      () => expect.unreachable(),
      (error: unknown) => error as Error,
    );
    expect(failure.message).toContain(message);
    expect(inspect(failure, { depth: 9 })).not.toContain('hunter2');
    expect(await source.get()).toEqual({ authorization: 'Bearer good' });
  });

  it('that is not installed shows the hint from the kubeconfig', async () => {
    const made = await plugin('', { command: '/nowhere/login', installHint: 'apt install login' });
    await expect(execPluginCredentials(made.plugin).get()).rejects.toThrow(
      '/nowhere/login is not there: apt install login',
    );
  });

  it('refuses an apiVersion that it does not speak', async () => {
    const made = await plugin('', { apiVersion: 'client.authentication.k8s.io/v1alpha1' });
    expect(() => execPluginCredentials(made.plugin)).toThrow('v1alpha1');
  });
});
