/** A kubeconfig for somebody who may do little: the service account `tenant` of a namespace. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import type { Commands } from '../chart/installed.ts';

/** Lets the tenant list these kinds of the namespace and nothing else. Returns the kubeconfig's file. */
export async function tenantWhoLists(kinds: readonly string[], namespace: string, { kube }: Commands): Promise<string> {
  const there = ['-n', namespace];
  await kube(['create', 'role', 'tenant', ...there, '--verb=list', `--resource=${kinds.join(',')}`]);
  await kube(['create', 'rolebinding', 'tenant', ...there, '--role=tenant', `--serviceaccount=${namespace}:tenant`]);
  const folder = await mkdtemp(join(tmpdir(), 'podloom-tenant-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const config = parse(await readFile(inject('kubeconfig'), 'utf8')) as { users: { user: object }[] };
  for (const { user } of config.users) Object.assign(user, { as: `system:serviceaccount:${namespace}:tenant` });
  const file = join(folder, 'kubeconfig');
  await writeFile(file, JSON.stringify(config));
  return file;
}
