/** What an administrator can set of the operator, said once: flags, environment, `--help` and the chart's values come from here. */
import { operatorFields, settings, text } from '@podloom/kube';
import { fieldManager } from './network/context.ts';

export const networkOperatorSettings = settings({
  ...operatorFields(fieldManager),
  onlyNamespace: text()
    .optional()
    .describe(
      'Serve this namespace and no other. Left out, all of them. Only one operator a cluster: it names the bridges of all namespaces on the nodes.',
    ),
  reservedCidrs: text()
    .default('')
    .describe(
      'Further ranges that no network may overlap, separated by commas. Known are addresses and podCIDRs of the Nodes, and ranges of Services from Kubernetes 1.33 on; the pod range must be named where pods have addresses of other ranges than podCIDRs.',
    ),
  sampleImage: text()
    .default('podloom.local/tools:0.1.0')
    .describe('Image of the sample Deployment that a PodConfig may ask for.'),
});

export type NetworkOperatorSettings = ReturnType<typeof networkOperatorSettings.read>;
