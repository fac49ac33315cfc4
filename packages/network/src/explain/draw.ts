/** A pod's networks as a drawing: what `podloom show POD` prints. */
import type { PodInterface, PodInterfaceStatus, PodNetwork } from '@podloom/api';
import { recordedLink } from '../plan/primary.ts';

export function drawPod({ metadata, spec, status }: PodNetwork): string {
  const observed = new Map(status?.interfaces?.map((entry) => [entry.key, entry]));
  const declared = spec.interfaces.map((wanted) => drawInterface(wanted, observed.get(wanted.key)));
  const leaving = (status?.interfaces ?? [])
    .filter(({ key }) => !spec.interfaces.some((wanted) => wanted.key === key))
    .map((entry) => [`${entry.name ?? entry.key}  ${stateOf(entry)}`]);
  const branches = [...declared, ...drawPrimary({ spec, status }), ...leaving];
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
  if (wanted.bridge) {
    const { name: bridge, gateways } = wanted.bridge;
    const device = seen?.bridgeDevice ?? wanted.bridge.device;
    const named = device === bridge ? device : `${device} (${bridge})`;
    lines.push(
      `╰─${wanted.linkType}── ${seen?.hostName ?? '…'} ──▶ bridge ${named}${gateways.length > 0 ? `  ${gateways.join(', ')}` : ''}`,
    );
  } else if (wanted.parent !== undefined) lines.push(`╰─${wanted.linkType}── ${wanted.parent} on the node`);
  for (const { to, via, metric } of wanted.routes) {
    lines.push(
      `   route ${to}${via === undefined ? '' : ` via ${via}`}${metric === undefined ? '' : ` metric ${metric}`}`,
    );
  }
  lines.push(`   from ${wanted.source.kind} ${wanted.source.name}`);
  return lines;
}

const was = (value: string | number | undefined): string => (value === undefined ? '' : ` (was ${value})`);

function drawPrimary({ spec: { primary }, status }: Pick<PodNetwork, 'spec' | 'status'>): string[][] {
  if (!primary) return [];
  const before = recordedLink(status?.primary) === primary.interfaceName ? status?.primary?.before : undefined;
  const changes = [
    primary.mtuBytes === undefined ? '' : `mtu ${primary.mtuBytes}${was(before?.mtuBytes)}`,
    primary.txQueueLength === undefined ? '' : `txqueuelen ${primary.txQueueLength}${was(before?.txQueueLength)}`,
    ...Object.entries(primary.sysctls ?? {}).map(([name, value]) => `${name}=${value}${was(before?.sysctls?.[name])}`),
    ...(primary.routes ?? []).map(({ to, via }) => `route ${to}${via === undefined ? '' : ` via ${via}`}`),
  ].filter(Boolean);
  return [
    [
      `${primary.interfaceName}  the cluster's own link, changed: ${changes.join(', ')}`,
      ...primary.sources.map(({ kind, name }) => `   from ${kind} ${name}`),
    ],
  ];
}
