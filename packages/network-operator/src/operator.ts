/** The operator of the networks as a process: its settings, and its parts. It never touches a node; what it wants done there it writes into PodNetworks. */
import { InvalidInput, isCidr } from '@podloom/api';
import { type OperatorTools, runOperator } from '@podloom/kube';
import { fieldManager } from './network/context.ts';
import { networks } from './network/part.ts';
import type { NetworkOperatorSettings } from './settings.ts';

/** Runs until the signal aborts; resolves when nothing of it runs any more and the Lease is free. */
export async function runNetworkOperator(settings: NetworkOperatorSettings, tools: OperatorTools): Promise<void> {
  const { onlyNamespace, sampleImage } = settings;
  const reservedCidrs = parseCidrs(settings.reservedCidrs);
  const parts = [networks({ onlyNamespace, sampleImage, reservedCidrs })];
  await runOperator({ ...tools, name: fieldManager, settings, parts });
}

function parseCidrs(text: string): string[] {
  const cidrs = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const bad = cidrs.find((cidr) => !isCidr(cidr));
  if (bad !== undefined)
    throw new InvalidInput('RESERVED_CIDRS', `"${bad}" in reservedCidrs is no range such as 10.96.0.0/12`);
  return cidrs;
}
