/** What the chart says, as the API server stores it: privileges, roles, settings. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Kind, labsKinds, networkKinds } from '@podloom/api';
import { agentSettings } from '@podloom/agent';
import type { ClusterRole, CustomResourceDefinition, DaemonSet, Deployment, Job } from '@podloom/kube';
import { networkOperatorSettings, withdrawSettings } from '@podloom/network-operator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installed, chart, chartOnApiServer, namespace } from './installed.ts';

let installed: Installed;
beforeAll(async () => {
  installed = await chartOnApiServer();
});
afterAll(() => installed?.stop());

const rulesOf = async (name: string) => (await installed.get<ClusterRole>(`clusterrole/${name}`)).rules ?? [];
const select = (label: string) =>
  installed.get<{ items: ClusterRole[] }>('clusterroles', '-l', `app.kubernetes.io/part-of=podloom,${label}`);
const names = (pod: { containers: { env?: { name: string }[] }[] } | undefined) =>
  pod?.containers.flatMap(({ env }) => env?.map(({ name }) => name) ?? []) ?? [];
const known = (rows: readonly { env: string }[]) => rows.map(({ env }) => env);
const specOf = async (object: string): Promise<unknown> =>
  (await installed.get<{ spec: unknown }>(object, '-n', namespace)).spec;
const labels = (component: string) => ({
  'app.kubernetes.io/name': 'podloom',
  'app.kubernetes.io/component': component,
});
const tcp = (port: number | string) => ({ protocol: 'TCP', port });
const template = (...args: string[]) =>
  installed.helm(['template', 'podloom', chart, '-n', namespace, '--kube-version=1.36.0', ...args]);

describe('the values', () => {
  it('pass the strictest lint', async () => {
    const { code, stdout } = await installed.helm(['lint', '--strict', chart]);
    expect(stdout).toContain('0 chart(s) failed');
    expect(code).toBe(0);
  });

  it.each([
    ['networkOperator.replica=3', /replica/],
    ['networkOperator.replicas=0', /replicas/],
    ['agent.runtime=docker', /runtime/],
    ['agent.driftPolicy=ignore', /driftPolicy/],
    ['agent.cni.allowedPlugins={../sh}', /allowedPlugins/],
    ['image.digest=sha256:12', /digest/],
    ['image.tag=1.0@sha256:12', /tag/],
    ['withdraw.timeout=soon', /timeout/],
    ['networkOperator.port=70000', /port/],
    ['labs.tenants.keycloak.secretName=Not/one', /secretName/],
  ])('refuse %s and name the field', async (set, field) => {
    const { code, stderr } = await template('--set', set);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(field);
  });

  it('are each explained where they are declared', () => {
    const lines = readFileSync(join(chart, 'values.yaml'), 'utf8').split('\n');
    const sections = lines.flatMap((line, i) =>
      /^[a-z]\w*:/.test(line) ? [{ line, before: lines[i - 1], after: lines[i + 1] }] : [],
    );
    expect(sections.length).toBeGreaterThan(5);
    for (const { line, before, after } of sections) {
      expect(`${before}\n${line}\n${after}`).toMatch(/^\s*#/m);
    }
  });

  it('give the operator of the labs its secrets at Keycloak by the environment, and events an address', async () => {
    const set = 'labs.tenants.enabled=true,labs.tenants.keycloak.secretName=kc';
    const only = ['--show-only', 'templates/labs/operator.yaml'];
    const { stdout } = await template('--set', `${set},labs.tenants.keycloak.webhook.enabled=true`, ...only);
    expect(/args: .*/.exec(stdout)?.[0]).not.toMatch(/secret/);
    for (const key of ['client-secret', 'webhook-secret']) expect(stdout).toContain(`key: ${key}`);
    expect(stdout).toContain('name: podloom-tenant-webhook');
    expect(stdout).toContain('- { name: webhook, containerPort: 8082 }');
    expect(stdout).toContain('- { protocol: TCP, port: webhook }');
    expect((await template('--set', set, ...only)).stdout).not.toContain('webhook');
  });

  it('mount one runtime where one is named', async () => {
    const { stdout } = await template('--set', 'agent.runtime=containerd');
    expect(stdout).toContain('mountPath: /run/containerd');
    expect(stdout).not.toContain('/run/crio');
  });

  it('mount a folder of the own choice where the agent looks for the socket', async () => {
    const folders = 'agent.socketFolders.containerd=/var/lib/elsewhere,agent.socketFolders.crio=/opt/crio';
    const { stdout } = await template('--set', folders);
    expect(stdout).toContain('hostPath: { path: "/var/lib/elsewhere" }');
    expect(stdout).toContain('hostPath: { path: "/opt/crio" }');
    expect([...stdout.matchAll(/mountPath: (\/run\/\w+)/g)].map(([, path]) => path)).toEqual([
      '/run/containerd',
      '/run/crio',
    ]);
  });

  it('tell the agent what to do about changes by hand', async () => {
    const { stdout } = await template('--set', 'agent.driftPolicy=report');
    expect(stdout).toMatch(/name: PODLOOM_DRIFT_POLICY\n\s+value: report\n/);
    expect((await template()).stdout).toMatch(/name: PODLOOM_DRIFT_POLICY\n\s+value: repair\n/);
  });

  it('tell the agent which CNI plugins may be started, and give it their folders', async () => {
    const { stdout } = await template('--set', 'agent.cni.allowedPlugins={bridge,static}');
    expect(stdout).toMatch(/name: PODLOOM_CNI_ALLOWED_PLUGINS\n\s+value: "bridge,static"\n/);
    expect((await template()).stdout).toMatch(
      /name: PODLOOM_CNI_ALLOWED_PLUGINS\n\s+value: "bridge,host-local,static"\n/,
    );
    for (const path of ['/opt/cni/bin', '/etc/cni/net.d'])
      expect(stdout).toContain(`mountPath: ${path}, readOnly: true`);
    for (const path of ['/var/lib/cni', '/var/lib/podloom']) expect(stdout).toContain(`mountPath: ${path} }`);
  });

  it('bring a ServiceMonitor only where asked for', async () => {
    expect((await template()).stdout).not.toContain('ServiceMonitor');
    const { stdout } = await template('--set', 'metrics.serviceMonitor.enabled=true');
    expect(stdout.match(/kind: ServiceMonitor/g)).toHaveLength(2);
    expect(stdout.match(/honorLabels: true/g)).toHaveLength(2);
  });

  it('install nothing at all where networks are not wanted', async () => {
    const { code, stdout } = await template('--set', 'network.enabled=false');
    expect(code).toBe(0);
    expect(stdout).not.toContain('kind:');
  });

  it('replace the pods when the digest changes', async () => {
    const digest = `sha256:${'ab'.repeat(32)}`;
    const { stdout } = await template('--set', `image.digest=${digest}`);
    expect(stdout.match(new RegExp(`image-digest: "${digest}"`, 'g'))).toHaveLength(2);
  });
});

describe('the processes', () => {
  it('are given only settings that they know', async () => {
    const operator = await installed.get<Deployment>('deployment/podloom-network-operator', '-n', namespace);
    const agent = await installed.get<DaemonSet>('daemonset/podloom-agent', '-n', namespace);
    expect(known(networkOperatorSettings.rows)).toEqual(expect.arrayContaining(names(operator.spec?.template.spec)));
    expect(known(agentSettings.rows)).toEqual(expect.arrayContaining(names(agent.spec?.template.spec)));
    expect(names(agent.spec?.template.spec)).toContain('NODE_NAME');
    const hook = (await template()).stdout.split('---').find((one) => one.includes('name: podloom-withdraw')) ?? '';
    const written = [...hook.matchAll(/- name: ([A-Z_]+)/g)].map(([, name]) => name);
    expect(written.length).toBeGreaterThan(1);
    expect(known(withdrawSettings.rows)).toEqual(expect.arrayContaining(written));
  });

  it('need nothing of the node where they are the operator', async () => {
    const { spec } = await installed.get<Deployment>('deployment/podloom-network-operator', '-n', namespace);
    const pod = spec?.template.spec;
    expect(pod).not.toHaveProperty('hostNetwork');
    expect(pod).not.toHaveProperty('volumes');
    expect(pod?.containers[0]?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(pod?.nodeSelector).toEqual({ 'kubernetes.io/os': 'linux' });
    expect(spec?.replicas).toBe(2);
  });

  it('have four capabilities and read-only sockets where they are the agent', async () => {
    const { spec } = await installed.get<DaemonSet>('daemonset/podloom-agent', '-n', namespace);
    const pod = spec?.template.spec;
    const [container] = pod?.containers ?? [];
    expect(container?.securityContext).toMatchObject({ privileged: false, readOnlyRootFilesystem: true, runAsUser: 0 });
    expect(container?.securityContext?.capabilities).toEqual({
      drop: ['ALL'],
      add: ['NET_ADMIN', 'NET_RAW', 'SYS_ADMIN', 'SYS_PTRACE'],
    });
    expect(pod?.volumes?.map(({ hostPath }) => hostPath?.path)).toEqual([
      '/run/containerd',
      '/run/crio',
      '/proc/sys/net',
      '/opt/cni/bin',
      '/etc/cni/net.d',
      '/var/lib/cni',
      '/var/lib/podloom',
    ]);
    expect(container?.volumeMounts?.filter(({ readOnly }) => !readOnly)).toMatchObject([
      { name: 'sysctls' },
      { name: 'cni-state' },
      { name: 'podloom-state' },
    ]);
    expect(pod?.tolerations).toEqual([{ operator: 'Exists' }]);
    expect(pod?.nodeSelector).toEqual({ 'kubernetes.io/os': 'linux' });
  });
});

describe('around the processes', () => {
  it('two operators prefer two nodes, and no drain takes both at once', async () => {
    const { spec } = await installed.get<Deployment>('deployment/podloom-network-operator', '-n', namespace);
    const selector = { matchLabels: labels('network-operator') };
    expect(spec?.selector).toEqual(selector);
    expect(spec?.template.metadata?.labels).toMatchObject(labels('network-operator'));
    expect(spec?.template.spec?.affinity).toEqual({
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 100, podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', labelSelector: selector } },
        ],
      },
    });
    expect(await specOf('poddisruptionbudget/podloom-network-operator')).toEqual({ maxUnavailable: 1, selector });
  });

  it('the operator reaches the API server and names, and is asked for its figures only', async () => {
    expect(await specOf('networkpolicy/podloom-network-operator')).toEqual({
      podSelector: { matchLabels: labels('network-operator') },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: [tcp('metrics')] }],
      egress: [{ ports: [tcp(443), tcp(6443)] }, { ports: [{ protocol: 'UDP', port: 53 }, tcp(53)] }],
    });
    expect((await template('--set', 'networkPolicy.enabled=false')).stdout).not.toContain('kind: NetworkPolicy');
  });

  it.each([
    ['network-operator', 'deployment'],
    ['agent', 'daemonset'],
  ])('the figures of each %s have a Service without an address, at the port that it listens on', async (name, kind) => {
    const { spec } = await installed.get<Deployment | DaemonSet>(`${kind}/podloom-${name}`, '-n', namespace);
    const [container] = spec?.template.spec?.containers ?? [];
    const [metrics] = container?.ports ?? [];
    expect(metrics).toMatchObject({ name: 'metrics', containerPort: expect.any(Number) as number });
    expect(container?.env).toContainEqual({ name: 'PODLOOM_PORT', value: String(metrics?.containerPort) });
    expect(spec?.template.metadata?.labels).toMatchObject(labels(name));
    expect(await specOf(`service/podloom-${name}-metrics`)).toMatchObject({
      clusterIP: 'None',
      selector: labels(name),
      ports: [{ name: 'metrics', port: metrics?.containerPort, targetPort: 'metrics' }],
    });
  });
});

describe('the roles', () => {
  it('let an agent read PodNetworks, write their status and tell events', async () => {
    expect(await rulesOf('podloom-agent')).toEqual([
      { apiGroups: ['podnetwork.opdev.io'], resources: ['podnetworks'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['podnetwork.opdev.io'], resources: ['podnetworks/status'], verbs: ['get', 'patch'] },
      { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
    ]);
  });

  it('have no wildcard, no secret and no right to give rights', async () => {
    const { items } = await installed.get<{ items: ClusterRole[] }>(
      'clusterroles',
      '-l',
      'app.kubernetes.io/part-of=podloom',
    );
    expect(items.length).toBeGreaterThan(10);
    for (const { metadata, rules } of items) {
      const words = JSON.stringify(rules);
      expect(`${metadata.name} ${words}`).not.toMatch(/"(\*|secrets|escalate|bind|impersonate|roles)"/);
    }
  });

  it('are two for each kind that people write, and one for each that they only read', async () => {
    const own = networkKinds.filter(({ foreign }) => !foreign);
    const onlyRead = new Set(['podnetworks', 'ippools']);
    for (const { plural, group } of own) {
      expect((await rulesOf(`podloom-${plural}-view`))[0]).toMatchObject({
        apiGroups: [group],
        verbs: ['get', 'list', 'watch'],
      });
      const { code } = await installed.kubectl(['get', `clusterrole/podloom-${plural}-edit`]);
      expect({ plural, hasEdit: code === 0 }).toEqual({ plural, hasEdit: !onlyRead.has(plural) });
    }
  });

  it('give nobody who may edit a namespace the right to change its networks', async () => {
    for (const role of ['edit', 'admin']) {
      expect((await select(`rbac.authorization.k8s.io/aggregate-to-${role}=true`)).items).toEqual([]);
    }
    const { items: viewers } = await select('rbac.authorization.k8s.io/aggregate-to-view=true');
    expect(viewers).not.toEqual([]);
    for (const { rules } of viewers) expect(rules?.flatMap(({ verbs }) => verbs)).toEqual(['get', 'list', 'watch']);
    const { items: tenants } = await select('podnetwork.opdev.io/aggregate-to-tenant=true');
    const roles = tenants.map(({ metadata }) => metadata.name);
    expect(roles).toContain('podloom-podconfigs-edit');
    expect(roles).not.toContain('podloom-networkgrants-edit');
  });
});

const namesOf = (some: readonly Kind[]): string[] => some.map(({ plural, group }) => `${plural}.${group}`).toSorted();

describe('the kinds', () => {
  it('are all installed and stay when the chart goes', async () => {
    const { items } = await installed.get<{ items: CustomResourceDefinition[] }>('crd');
    expect(items.map(({ metadata }) => metadata.name ?? '').toSorted()).toEqual(namesOf(networkKinds));
    for (const { metadata } of items) expect(metadata.annotations).toMatchObject({ 'helm.sh/resource-policy': 'keep' });
  });

  it.each(['tenants', 'instances', 'bastion', 'imageList'])('of labs come with labs.%s alone', async (part) => {
    // The only part that does not work without being told something: which registries.
    const needs = part === 'imageList' ? ['--set', 'labs.imageList.registriesSecret=registries'] : [];
    const { stdout } = await template('--set', 'network.enabled=false', '--set', `labs.${part}.enabled=true`, ...needs);
    const found = [...stdout.matchAll(/kind: CustomResourceDefinition\nmetadata:\n {2}name: (\S+)/g)];
    expect(found.map(([, name = '']) => name).toSorted()).toEqual(namesOf(labsKinds));
  });
});

describe("the operator's secret at Keycloak", () => {
  it('comes from a Secret, and is in no value and no argument', async () => {
    const keycloak = 'labs.tenants.keycloak';
    const sets = ['labs.tenants.enabled=true', `${keycloak}.secretName=mine`, `${keycloak}.ownAuthority=true`];
    const { stdout } = await template('--show-only=templates/labs/operator.yaml', ...sets.map((set) => `--set=${set}`));
    expect(stdout).toMatch(
      /name: KEYCLOAK_CLIENT_SECRET\s+valueFrom:\s+secretKeyRef:\s+key: client-secret\s+name: mine/,
    );
    expect(stdout).toMatch(/name: KEYCLOAK_CA_FILE\s+value: \/etc\/keycloak\/ca.crt/);
    expect(stdout).toMatch(/mountPath: \/etc\/keycloak, readOnly: true/);
    // The way out leads there and to the API server.
    expect(stdout).toContain('{ protocol: TCP, port: 8443 }');
    const without = await template('--show-only=templates/labs/operator.yaml', '--set=labs.tenants.enabled=true');
    expect(without.stdout).not.toMatch(/KEYCLOAK|8443|volumes:/);
  });
});

describe('the withdrawal', () => {
  it('runs before anything is deleted, or not at all', async () => {
    const hooks = await installed.helm(['get', 'hooks', 'podloom', '-n', namespace]);
    expect(hooks.stdout).toContain('helm.sh/hook: pre-delete');
    const { stdout } = await template('--set', 'withdraw.onUninstall=false');
    expect(stdout).not.toContain('kind: Job');
    // It is a hook: nothing of it is there while the product runs.
    expect((await installed.get<{ items: Job[] }>('jobs', '-A')).items).toEqual([]);
  });
});
