/** The operator of the labs as a process: its settings, and its parts. */
import { type OperatorTools, runOperator } from '@podloom/kube';
import { identityOf } from './identity/identity.ts';
import { people } from './people/part.ts';
import { peopleOptions } from './people/options.ts';
import { type LabsOperatorSettings, addressesOf, fieldManager } from './settings.ts';

/** Runs until the signal aborts; resolves when nothing of it runs any more and the Lease is free. */
export async function runLabsOperator(settings: LabsOperatorSettings, tools: OperatorTools): Promise<void> {
  for (const { flag, reason } of settings.withoutEffect) tools.log.info({ flag, reason }, 'Flag is without effect');
  const identity = identityOf(settings, tools.log);
  const { enableTenant, enableWorkspace } = settings;
  const parts = enableTenant || enableWorkspace ? [people(peopleOptions(settings), identity)] : [];
  await runOperator({ ...tools, name: fieldManager, settings, parts, addresses: addressesOf(settings) });
}
