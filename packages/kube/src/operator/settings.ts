/** What can be set of every operator. A program spreads these into its own settings: `settings({ ...operatorFields(name), … })`. */
import { duration, integer, text } from '../process/setting.ts';
import type { Setting } from '../process/setting.ts';

/** As read. */
export interface OperatorSettings {
  readonly namespace: string;
  readonly identity: string | undefined;
  readonly leaseName: string;
  readonly leaseDuration: number;
  readonly port: number;
}

type Fields = { readonly [K in keyof OperatorSettings]: Setting<OperatorSettings[K]> };

/** `name` is that of the Deployment, and so of the Lease. */
export const operatorFields = (name: string): Fields => ({
  namespace: text()
    .env('POD_NAMESPACE')
    .default('podloom-system')
    .describe('Namespace of the operator itself, where its Lease is. Set by the downward API.'),
  identity: text()
    .env('POD_NAME')
    .optional()
    .describe('Name of this process among those that compete to lead. Left out, the name of the host.'),
  leaseName: text().default(name).describe('Name of the Lease that decides which replica works.'),
  leaseDuration: duration()
    .default('15s')
    .describe(
      'For how long a leader that fell silent keeps its lease. Shorter means quicker take-over and more writes.',
    ),
  port: integer({ min: 0, max: 65_535 })
    .default('0')
    .describe('Port for /healthz, /readyz and /metrics. 0 serves none.'),
});
