/** The few objects that a fresh API server lacks for DNS: the service that pods ask, and what CoreDNS may read. */
import { clusterRoleBindings, clusterRoles, type Client, endpointSlices, services } from '@podloom/kube';
import type { ClusterPlan } from '../cluster/plan.ts';

const fieldManager = 'podloom-cluster';
const dnsPorts = [
  { name: 'dns', protocol: 'UDP' as const, port: 53 },
  { name: 'dns-tcp', protocol: 'TCP' as const, port: 53 },
];

export async function applyObjects(client: Client, plan: ClusterPlan): Promise<void> {
  const role = 'podloom:coredns';
  await client.apply(
    clusterRoles,
    {
      metadata: { name: role },
      rules: [
        { apiGroups: [''], resources: ['services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
        { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
      ],
    },
    { fieldManager, force: true },
  );
  await client.apply(
    clusterRoleBindings,
    {
      metadata: { name: role },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: role }],
    },
    { fieldManager, force: true },
  );
  // Without a selector, because CoreDNS is a process beside the API server and not a pod: it is there before any pod.
  await client.apply(
    services,
    {
      metadata: { name: 'kube-dns', namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } },
      spec: { clusterIP: plan.dnsAddress, ports: dnsPorts },
    },
    { fieldManager, force: true },
  );
  await client.apply(
    endpointSlices,
    {
      metadata: {
        name: 'kube-dns',
        namespace: 'kube-system',
        labels: { 'kubernetes.io/service-name': 'kube-dns' },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: [plan.controlAddress], conditions: { ready: true } }],
      ports: dnsPorts,
    },
    { fieldManager, force: true },
  );
}
