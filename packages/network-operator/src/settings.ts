/** What an administrator can set of the operator, said once: flags, environment, `--help` and the chart's values come from here. */
import { duration, integer, settings, text } from '@podloom/kube';

export const networkOperatorSettings = settings({
  namespace: text()
    .env('POD_NAMESPACE')
    .default('podloom-system')
    .describe('Namespace of the operator itself, where its Lease is. Set by the downward API.'),
  identity: text()
    .env('POD_NAME')
    .optional()
    .describe('Name of this process among those that compete to lead. Left out, the name of the host.'),
  onlyNamespace: text()
    .optional()
    .describe(
      'Serve this namespace and no other. Left out, all of them. Only one operator a cluster: it names the bridges of all namespaces on the nodes.',
    ),
  leaseName: text().default('podloom-network-operator').describe('Name of the Lease that decides which replica works.'),
  leaseDuration: duration()
    .default('15s')
    .describe(
      'For how long a leader that fell silent keeps its lease. Shorter means quicker take-over and more writes.',
    ),
  reservedCidrs: text()
    .default('')
    .describe(
      'Further ranges that no network may overlap, separated by commas. Known are addresses and podCIDRs of the Nodes, and ranges of Services from Kubernetes 1.33 on; the pod range must be named where pods have addresses of other ranges than podCIDRs.',
    ),
  sampleImage: text()
    .default('podloom.local/tools:0.1.0')
    .describe('Image of the sample Deployment that a PodConfig may ask for.'),
  port: integer({ min: 0, max: 65_535 })
    .default('0')
    .describe('Port for /healthz, /readyz and /metrics. 0 serves none.'),
});

export type NetworkOperatorSettings = ReturnType<typeof networkOperatorSettings.read>;
