/** The class of the labs, by the words of its README, with the operator of the labs from its image and chart. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Commands, commandsFor } from '../chart/installed.ts';
import { ensureProduct } from '../chart/product.ts';
import { eventually } from '../setup/eventually.ts';
import { readerOf } from './readme.ts';

let cluster: Commands;

describe('the examples of labs', () => {
  beforeAll(async () => {
    cluster = await commandsFor(inject('kubeconfig'));
    // Without the admission policies: an API server that had them before finds no parameters when they come again, until it restarts. The policies
    // are seen at work by people.cluster.test.ts and the tests of the chart.
    await ensureProduct({
      'labs.tenants.enabled': true,
      'labs.tenants.enableWebhooks': false,
      'labs.tenants.provisionImage': inject('toolsImage'),
    });
    const file = 'examples/labs/class/class.yaml';
    await eventually(() => cluster.kube(['apply', '--dry-run=server', '-f', join(import.meta.dirname, '../..', file)]));
  });
  afterAll(async () => {
    const people = ['tenant/teacher', 'tenant/student-a', 'tenant/student-b', 'workspace/chemistry'];
    await cluster?.kubectl(['delete', ...people, '--ignore-not-found', '--timeout=600s']);
    await cluster?.kubectl(['delete', 'namespace', 'mydrive-pvcs', '--ignore-not-found', '--timeout=600s']);
    await ensureProduct({ 'labs.tenants.enabled': false, 'labs.tenants.enableWebhooks': true });
  });

  it('are all here', () => {
    expect(readdirSync(join(import.meta.dirname, '../../examples/labs'))).toEqual(['class']);
  });

  it('class: each has a namespace, a quota and rights, and a student has no way to the other', async () => {
    const reader = await readerOf('labs/class');
    await reader.next('apply -f');
    await reader.next('condition=Ready');
    const shown = await reader.next('get tenants -o wide');
    for (const person of ['teacher', 'student-a', 'student-b']) {
      expect(shown).toMatch(new RegExp(`^${person} .* tenant-${person} `, 'm'));
    }
    expect(await reader.next('describe resourcequota')).toMatch(/limits\.cpu +0 +2[\s\S]*limits\.memory +0 +4Gi/);
    expect(await reader.next('--as=student-a')).toBe('yes\n');
    expect(await reader.next('--as=teacher')).toBe('yes\n');
    expect(await reader.nextFails('--as=student-b')).toBe('no\n');
    expect(await reader.next('publicKeys')).toContain('patched');
    await reader.next('delete tenant');
    await reader.next('delete workspace');
    expect(reader.left).toEqual([]);
    const left = await cluster.kube(['get', 'namespaces', '--output=name']);
    expect(left).not.toMatch(/student|teacher|chemistry/);
  });
});
