import { describe, expect, it } from 'vitest';
import { peopleOptions } from './options.ts';
import { addressesOf, labsOperatorSettings } from './settings.ts';

const read = (...args: string[]) => labsOperatorSettings.read({ args, env: {} });

describe('the settings', () => {
  it("take the command line of the seed's README", () => {
    const settings = read(
      '--target-label=crownlabs.polito.it/operator-selector=local',
      '--keycloak-url=https://auth.example.org',
      '--keycloak-realm=labs',
      '--keycloak-client-id=operator',
      '--keycloak-client-secret=secret',
      '--keycloak-roles-client-id=k8s',
      '--enable-webhooks=false',
      '--mydrive-pvcs-size=2Gi',
      '--mydrive-pvcs-storage-class-name=nfs',
      '--mydrive-pvcs-namespace=drives',
    );
    expect(settings).toMatchObject({ keycloakRolesClientId: 'k8s', tenantNsKeepAlive: 0, waitUserVerification: false });
    expect(peopleOptions(settings)).toMatchObject({
      targetLabels: { 'crownlabs.polito.it/operator-selector': 'local' },
      again: { minMs: 3_600_000, maxMs: 7_200_000 },
      drive: { size: '2Gi', storageClass: 'nfs', namespace: 'drives' },
    });
    expect(settings.withoutEffect).toEqual([{ flag: '--enable-webhooks', reason: expect.any(String) as string }]);
  });

  it.each([
    [['--enable-tenant=false', '--enable-workspace'], { tenants: false, workspaces: true }],
    [['--enable-tenant=true', '--enable-workspace=false'], { tenants: true, workspaces: false }],
    [[], { tenants: true, workspaces: true }],
  ])('switch parts by %j', (args, serves) => {
    expect(peopleOptions(read(...args)).serves).toEqual(serves);
  });

  it.each([
    ['--client-qps', '100', '--cap-cpu', '3'],
    ['--client-qps=100', '--cap-cpu=3'],
    ['--enable-leader-election', '--cap-cpu=3'],
    ['--namespace-whitelist=production=true', '--cap-cpu=3'],
  ])('leave out what has no effect, with its value: %s', (...args) => {
    const settings = read(...args);
    expect(settings.capCpu).toBe(3);
    expect(settings.withoutEffect).toHaveLength(1);
  });

  it.each([
    [['--mydrive-pvcs-size=large'], /large/],
    [['--target-label=local'], /"local" is no label/],
    [['--reschedule-min=3h'], /reschedule-max/],
  ])('refuse %j and say why', (args, reason) => {
    expect(() => peopleOptions(read(...args))).toThrow(reason);
  });

  it('serve health and figures where upstream does', () => {
    expect(addressesOf(read('--metrics-addr=:8080', '--health-probe-bind-address=127.0.0.1:8081'))).toEqual([
      { port: 8080 },
      { host: '127.0.0.1', port: 8081 },
    ]);
    expect(addressesOf(read('--metrics-addr=[::1]:8080'))).toEqual([{ host: '::1', port: 8080 }]);
    expect(addressesOf(read())).toEqual([]);
    expect(() => addressesOf(read('--metrics-addr=8080'))).toThrow(/no address/);
  });
});
