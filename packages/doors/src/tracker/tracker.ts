/**
 * Counts SSH connections from the bastion to instances, by destination, so that an administrator can see which instance nobody uses. It only looks: the packets
 * go their way without it.
 */
import { InvalidInput } from '@podloom/api';
import { type Log, type Metrics, aborted, startServer } from '@podloom/kube';
import { type Netns, isNetlinkError, open } from '@podloom/netlink';
import type { TrackerSettings } from './settings.ts';
import { destinationOf, synTo } from './syn.ts';

interface Tools {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
}

/** The label of all destinations over the limit together. */
const other = 'other';

/** Runs until the signal aborts. */
export async function runTracker(settings: TrackerSettings, { log, metrics, signal }: Tools): Promise<void> {
  const place = parseAddress(settings.sshTrackerMetricsAddr);
  using pod = open();
  using _ = startTracking(pod, settings, metrics);
  log.info({ link: settings.sshTrackerInterface, port: settings.sshTrackerPort }, 'Counting SSH connections');
  const server = await startServer({ ...place, metrics, log, signal });
  await aborted(signal);
  await server.ended;
}

/** Counts until it is disposed of. */
export function startTracking(netns: Netns, settings: TrackerSettings, metrics: Metrics): Disposable {
  const { sshTrackerPort: port, sshTrackerSnaplen: bytes, sshTrackerInterface: name } = settings;
  const count = destinationCounter(metrics, port, settings.sshTrackerMaxDestinations);
  const link = name === 'any' ? undefined : linkIndex(netns, name);
  const watching = netns.capture({ link, filter: synTo(port, bytes) }, (packet) => count(destinationOf(packet)));
  let lost = 0;
  metrics.sampled('podloom_ssh_tracker_lost', 'How many connections could not be counted?', {}, () => {
    lost += watching.stats().dropped;
    return lost;
  });
  return watching;
}

/** Anyone who may use the bastion can make up destinations, so there is a limit to what is remembered. */
export function destinationCounter(metrics: Metrics, port: number, limit: number): (destination: string) => void {
  const connections = metrics.counter('bastion_ssh_connections', 'How many SSH connections did the bastion open?', [
    'destination_ip',
    'destination_port',
  ]);
  const known = new Set<string>();
  return (destination) => {
    if (known.size < limit) known.add(destination);
    const label = known.has(destination) ? destination : other;
    connections.add({ destination_ip: label, destination_port: String(port) });
  };
}

/** ":8082" or "127.0.0.1:8082", as Go programs have it. */
export function parseAddress(text: string): { readonly host?: string; readonly port: number } {
  const [, host = '', digits = ''] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port > 65_535) {
    throw new InvalidInput('ADDRESS', `"${text}" is no address to serve at, such as :8082 or 127.0.0.1:8082`);
  }
  return host === '' ? { port } : { host: host.replace(/^\[(.*)\]$/, '$1'), port };
}

function linkIndex(netns: Netns, name: string): number {
  try {
    return netns.link.indexOf(name);
  } catch (cause) {
    if (!isNetlinkError(cause, 'ENODEV')) throw cause;
    throw new InvalidInput('TRACKER_LINK', `There is no link "${name}" here; --ssh-tracker-interface=any takes all`, {
      cause,
    });
  }
}
