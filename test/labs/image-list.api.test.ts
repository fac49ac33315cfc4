/** An ImageList beside its real registry: as it is, as it changes, and when it does not answer. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ImageList, customResourceDefinition, imageListKind } from '@podloom/api';
import {
  type Client,
  createClient,
  customResourceDefinitions,
  isConditionTrue,
  loadConfig,
  silentLog,
  unlessGone,
} from '@podloom/kube';
import { imageListSettings, runImageList } from '@podloom/labs-operator';
import { type RegistryServer, startRegistry } from '@podloom/local';
import { type Registry, openRegistry, pushOciArchive, writeOciArchive } from '@podloom/oci';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { eventually } from '../setup/eventually.ts';

let client: Client;
let dir: string;
let server: RegistryServer;
let registry: Registry;

const push = (repository: string, tag: string) =>
  pushOciArchive(registry, { archive: join(dir, 'image.tar'), repository, tag });
const listed = (name: string): Promise<ImageList | undefined> =>
  unlessGone(() => client.get(imageListKind.resource, name));

/** `podloom image-list` with these flags, until the test has ended. */
function keep(name: string, password = server.credentials.password): void {
  const stop = new AbortController();
  const flags = {
    'advertised-registry-name': 'registry.example',
    'image-list-name': name,
    'registry-url': server.url,
    'registry-username': server.credentials.username,
    'registry-password': password,
    'registry-ca-file': join(dir, 'ca.crt'),
    'update-interval': '1',
  };
  const settings = imageListSettings.read({
    args: Object.entries(flags).map((pair) => `--${pair.join('=')}`),
    env: {},
  });
  const ended = runImageList(settings, { client, log: silentLog, signal: stop.signal });
  onTestFinished(async () => {
    stop.abort();
    await ended;
    await unlessGone(() => client.delete(imageListKind.resource, name));
  });
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'podloom-image-list-'));
  client = createClient(await loadConfig({ path: inject('kubeconfig') }));
  const crd = customResourceDefinition(imageListKind);
  await client.apply(customResourceDefinitions, crd, { fieldManager: 'test', force: true });
  server = await startRegistry({ dir: await mkdtemp(join(dir, 'registry-')) });
  await writeFile(join(dir, 'ca.crt'), server.ca);
  registry = openRegistry(server);
  const layers = [[{ path: 'etc/a', text: 'a' }]];
  await writeOciArchive({ out: join(dir, 'image.tar'), name: 'podloom.local/a:1', layers, config: { cmd: ['/a'] } });
  for (const tag of ['v2', 'v1', 'latest']) await push('course/desktop', tag);
  await push('only-latest', 'latest');
});

afterAll(async () => {
  registry?.close();
  await server?.stop();
  await client?.close();
  await rm(dir, { recursive: true, force: true });
});

describe('an ImageList', () => {
  it('is as the registry is, and follows it; written again only when something changed', async () => {
    keep('images-follow');
    await eventually(async () => {
      expect((await listed('images-follow'))?.spec).toEqual({
        registryName: 'registry.example',
        images: [{ name: 'course/desktop', versions: ['v1', 'v2'] }],
      });
    });
    await eventually(async () => {
      expect(isConditionTrue((await listed('images-follow'))?.status?.conditions, 'UpToDate')).toBe(true);
    });
    const before = (await listed('images-follow'))?.metadata.resourceVersion;
    await push('course/shell', 'v7');
    await eventually(async () => {
      expect((await listed('images-follow'))?.spec.images).toContainEqual({ name: 'course/shell', versions: ['v7'] });
    });
    const { resourceVersion, generation } = (await listed('images-follow'))?.metadata ?? {};
    expect(resourceVersion).not.toBe(before);
    expect(generation).toBe(2);
  });

  it('says that its registry lets nobody in with that password, which it does not repeat', async () => {
    keep('images-refused', 'not-the-password');
    await eventually(async () => {
      const { spec, status } = (await listed('images-refused')) ?? {};
      expect(spec?.images).toEqual([]);
      expect(status?.conditions).toMatchObject([{ type: 'UpToDate', status: 'False', reason: 'RegistryUnavailable' }]);
      expect(JSON.stringify(status)).not.toContain('not-the-password');
    });
  });

  it('stays as it was while the registry is away, and says so', async () => {
    keep('images-away');
    await eventually(async () => expect((await listed('images-away'))?.spec.images).toHaveLength(2));
    const { spec } = (await listed('images-away')) ?? {};
    await server.stop();
    await eventually(async () => {
      const now = await listed('images-away');
      expect(now?.status?.conditions).toMatchObject([{ status: 'False', reason: 'RegistryUnavailable' }]);
      expect(now?.spec).toEqual(spec);
    });
  });
});
