/** The operator of the labs as a process: its settings, and its parts. */
import { type OperatorTools, runOperator } from '@podloom/kube';
import { type Identity, identityOf } from './identity/identity.ts';
import { people } from './people/part.ts';
import { sharedVolumes } from './volumes/part.ts';
import { peopleOptions, volumesOptions } from './options.ts';
import { type LabsOperatorSettings, addressesOf, fieldManager } from './settings.ts';

/** Runs until the signal aborts; resolves when nothing of it runs any more and the Lease is free. */
export async function runLabsOperator(
  settings: LabsOperatorSettings,
  tools: OperatorTools,
  identity: Identity | undefined = identityOf(settings, tools.log),
): Promise<void> {
  for (const { flag, reason } of settings.withoutEffect) tools.log.info({ flag, reason }, 'Flag is without effect');
  const { enableTenant, enableWorkspace, enableSharedvolume } = settings;
  const parts = [
    ...(enableTenant || enableWorkspace ? [people(peopleOptions(settings), identity)] : []),
    ...(enableSharedvolume ? [sharedVolumes(volumesOptions(settings))] : []),
  ];
  await runOperator({ ...tools, name: fieldManager, settings, parts, addresses: addressesOf(settings) });
}
