/** The operator of the labs as a process: its settings, and its parts. */
import { type OperatorTools, runOperator } from '@podloom/kube';
import { keycloakEvents } from './identity/events-part.ts';
import { type Identity, identityOf } from './identity/identity.ts';
import { imageLists } from './image-list/part.ts';
import { people } from './people/part.ts';
import { sharedVolumes } from './volumes/part.ts';
import { imageListsOptions, peopleOptions, volumesOptions } from './options.ts';
import { type LabsOperatorSettings, addressesOf, fieldManager, parseAddress } from './settings.ts';

/** Runs until the signal aborts; resolves when nothing of it runs any more and the Lease is free. */
export async function runLabsOperator(
  settings: LabsOperatorSettings,
  tools: OperatorTools,
  standIn?: Identity,
): Promise<void> {
  for (const { flag, reason } of settings.withoutEffect) tools.log.info({ flag, reason }, 'Flag is without effect');
  const { enableTenant, enableWorkspace, enableSharedvolume, enableImagelist, tenantWebhookSecret: secret } = settings;
  const keycloak = identityOf(settings);
  const options = peopleOptions(settings);
  const { targetLabels } = options;
  const parts = [
    ...(enableTenant || enableWorkspace ? [people(options, standIn ?? keycloak)] : []),
    ...(keycloak && secret && enableTenant
      ? [keycloakEvents({ ...parseAddress(settings.tenantWebhookPort), secret, targetLabels, identity: keycloak })]
      : []),
    ...(enableSharedvolume ? [sharedVolumes(volumesOptions(settings))] : []),
    ...(enableImagelist ? [imageLists(imageListsOptions(settings))] : []),
  ];
  await runOperator({ ...tools, name: fieldManager, settings, parts, addresses: addressesOf(settings) });
}
