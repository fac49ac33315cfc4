import { describe, expect, it } from 'vitest';
import { planCluster } from '../cluster/plan.ts';
import { modulesOf, parsePartNames, partCertificates, partNames, parts } from './parts.ts';

const plan = planCluster('/var/lib/podloom', { name: 'demo', network: 90, nodes: 2 });

describe('the parts of a cluster', () => {
  it('are known by their names, and a wrong one is told which there are', () => {
    expect(parsePartNames([...partNames])).toEqual(partNames);
    expect(() => parsePartNames(['Storage'])).toThrow(
      'There is no part "Storage"; there are storage, identity, registry',
    );
  });

  it('have certificates whose files are in nobody else’s way', () => {
    const names = Object.keys(partCertificates(plan));
    for (const taken of ['apiserver', 'admin', 'etcd', 'ca', 'n1']) expect(names).not.toContain(taken);
  });

  it('say what people need to use them, each in one line', () => {
    for (const name of partNames) {
      const facts = Object.values(parts[name].facts(plan));
      expect(facts.length).toBeGreaterThan(0);
      for (const fact of facts) expect(fact).toMatch(/^\S.*\S$/);
    }
    expect(modulesOf(['registry', 'storage'])).toEqual(['registry', 'storage']);
  });
});
