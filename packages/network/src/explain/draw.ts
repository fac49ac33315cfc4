/** A pod's networks as a drawing: what `podloom show POD` prints. */
import type { PodInterface, PodInterfaceStatus, PodNetwork, PrimaryLinkState } from '@podloom/api';
import { recordedLink } from '../plan/primary.ts';

export function drawPod(network: PodNetwork): string {
  const { metadata, spec, status } = network;
  const observed = new Map(status?.interfaces?.map((entry) => [entry.key, entry]));
  const declared = spec.interfaces.map((wanted) => drawInterface(wanted, observed.get(wanted.key)));
  const leaving = (status?.interfaces ?? [])
    .filter(({ key }) => !spec.interfaces.some((wanted) => wanted.key === key))
    .map((entry) => [`${entry.name ?? entry.key}  ${stateOf(entry)}`]);
  const waiting = (spec.waiting ?? []).map(({ source, reason, message }) => [
    `[Waiting] ${reason}: ${message}`,
    `   from ${source.kind} ${source.name}`,
  ]);
  const branches = [...declared, ...drawPrimary(network), ...leaving, ...waiting];
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const head = `pod ${metadata.namespace ?? ''}/${metadata.name ?? ''} on node ${spec.nodeName}`;
  const note = ready ? `  ${ready.status === 'True' ? 'ready' : `not ready: ${ready.reason}`}` : '';
  if (branches.length === 0) return `${head}${note}\n└─ no networks besides the cluster's own\n`;
  return `${head}${note}\n${branches.map((lines, i) => branch(lines, i === branches.length - 1)).join('\n')}\n`;
}

const branch = ([first = '', ...rest]: readonly string[], last: boolean): string =>
  [`${last ? '└─' : '├─'} ${first}`, ...rest.map((line) => `${last ? '  ' : '│ '} ${line}`)].join('\n');

function stateOf({ state, reason, message }: Pick<PodInterfaceStatus, 'state' | 'reason' | 'message'>): string {
  const why = [reason, message].filter(Boolean).join(': ');
  return `[${state}]${why === '' ? '' : ` ${why}`}`;
}

function drawInterface(wanted: PodInterface, seen: PodInterfaceStatus | undefined): string[] {
  const name = seen?.name ?? wanted.name ?? `${wanted.namePrefix ?? ''}…`;
  const addresses = seen?.addresses ?? wanted.addresses;
  const facts = [
    addresses.join(', ') || 'no address',
    seen?.macAddress ?? wanted.macAddress,
    seen?.mtuBytes === undefined ? undefined : `mtu ${seen.mtuBytes}`,
  ].filter(Boolean);
  const lines = [`${name}  ${facts.join('  ')}  ${stateOf(seen ?? { state: 'Pending' })}`];
  const { type, ...data } = wanted.link;
  if (wanted.bridge) {
    const { name: bridge, gateways } = wanted.bridge;
    const device = seen?.bridgeDevice ?? wanted.bridge.device;
    const named = device === bridge ? device : `${device} (${bridge})`;
    lines.push(
      `╰─${type}── ${seen?.hostName ?? '…'} ──▶ bridge ${named}${gateways.length > 0 ? `  ${gateways.join(', ')}` : ''}`,
    );
  } else {
    const own = Object.entries(data).map(([field, value]) => `${field} ${String(value)}`);
    lines.push(`╰─${type}── ${own.join(', ')}`.trimEnd());
  }
  for (const { to, via, metric } of wanted.routes) {
    lines.push(
      `   route ${to}${via === undefined ? '' : ` via ${via}`}${metric === undefined ? '' : ` metric ${metric}`}`,
    );
  }
  lines.push(`   from ${wanted.source.kind} ${wanted.source.name}`);
  return lines;
}

/** What was changed as the agent reports it; the rest is asked for and not there yet. Of routes it says only whether all is as declared. */
function drawPrimary({ metadata, spec: { primary }, status }: PodNetwork): string[][] {
  if (!primary) return [];
  const record = recordedLink(status?.primary) === primary.interfaceName ? status?.primary : undefined;
  const [before, applied] = [settingsOf(record?.before), settingsOf(record?.applied)];
  const isDone =
    status?.observedGeneration === metadata.generation &&
    status?.conditions?.some(({ type, status: verdict }) => type === 'Ready' && verdict === 'True') === true;
  const changed: string[] = [];
  const wanted: string[] = [];
  for (const [setting, value] of settingsOf(primary)) {
    const was = before.has(setting) ? ` (was ${before.get(setting)})` : '';
    if (applied.get(setting) === value) changed.push(`${setting}${value}${was}`);
    else wanted.push(`${setting}${value}`);
  }
  for (const { to, via } of primary.routes ?? []) {
    (isDone ? changed : wanted).push(`route ${to}${via === undefined ? '' : ` via ${via}`}`);
  }
  const parts = [
    ...(changed.length > 0 ? [`changed: ${changed.join(', ')}`] : []),
    ...(wanted.length > 0 ? [`wanted, not there yet: ${wanted.join(', ')}`] : []),
  ];
  return [
    [
      `${primary.interfaceName}  the cluster's own link, ${parts.join('; ')}`,
      ...primary.sources.map(({ kind, name }) => `   from ${kind} ${name}`),
    ],
  ];
}

/** By how people write them: `mtu `, `net.ipv4.conf.rp_filter=`. */
function settingsOf({ mtuBytes, txQueueLength, sysctls }: PrimaryLinkState = {}): Map<string, string | number> {
  return new Map<string, string | number>([
    ...(mtuBytes === undefined ? [] : [['mtu ', mtuBytes] as const]),
    ...(txQueueLength === undefined ? [] : [['txqueuelen ', txQueueLength] as const]),
    ...Object.entries(sysctls ?? {}).map(([name, value]) => [`${name}=`, value] as const),
  ]);
}
