/** Writes the enrolments of a Tenant where they follow from a Workspace. Whoever wrote meanwhile wins: the next pass sees that. */
import { type Enrolment, type Tenant, tenantKind } from '@podloom/api';
import { type Client, unlessGone } from '@podloom/kube';

export async function writeEnrolments(
  client: Client,
  { metadata: { name = '', uid, resourceVersion } }: Tenant,
  workspaces: readonly Enrolment[],
  signal: AbortSignal,
): Promise<void> {
  const patch = { metadata: { uid, resourceVersion }, spec: { workspaces } };
  await unlessGone(() => client.patch(tenantKind.resource, name, patch, { type: 'merge', signal }));
}
