/** What an administrator can set of the tracker. */
import { integer, settings, text } from '@podloom/kube';

export const trackerSettings = settings({
  sshTrackerInterface: text()
    .default('any')
    .describe('Link of the pod on which connections are seen. "any" means all of them.'),
  sshTrackerPort: integer({ min: 1, max: 65_535 }).default('22').describe('Port of the instances that counts.'),
  sshTrackerSnaplen: integer({ min: 60, max: 65_535 })
    .default('1600')
    .describe('How many bytes of a packet the kernel shows. The headers are enough.'),
  sshTrackerMetricsAddr: text()
    .default(':8082')
    .describe('Address and port at which /metrics, /healthz and /readyz are served. Without an address, all of them.'),
  sshTrackerMaxDestinations: integer({ min: 1, max: 1_000_000 })
    .default('10000')
    .describe('How many destinations are counted by themselves. Further ones are counted together, as "other".'),
});
export type TrackerSettings = ReturnType<typeof trackerSettings.read>;
