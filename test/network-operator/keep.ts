/** A server that does not delete something. */
import { type Client, deployments, unlessGone } from '@podloom/kube';
import { onTestFinished } from 'vitest';
import { eventually } from '../setup/eventually.ts';

const group = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false };
const policies = { ...group, plural: 'validatingadmissionpolicies', kind: 'ValidatingAdmissionPolicy' };
const bindings = { ...group, plural: 'validatingadmissionpolicybindings', kind: 'ValidatingAdmissionPolicyBinding' };

/** From when this resolves, no Deployment of the namespace can be deleted, of which `demo` is one; until what it returns is called, or the test ends. */
export async function keepDeployments(client: Client, namespace: string): Promise<() => Promise<void>> {
  const name = `keeps-${namespace}`;
  const letGo = async (): Promise<void> => {
    await unlessGone(() => client.delete(bindings, name));
    await unlessGone(() => client.delete(policies, name));
    await eventually(() => unlessGone(() => client.delete(deployments, 'demo', { namespace, dryRun: true })));
  };
  onTestFinished(letGo);
  const resourceRules = [
    { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['DELETE'], resources: ['deployments'] },
  ];
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
  const validations = [{ expression: 'false', message: 'stays here' }];
  const spec = { matchConstraints: { namespaceSelector, resourceRules }, validations };
  await client.create(policies, { metadata: { name }, spec });
  await client.create(bindings, { metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } });
  await eventually(async () => {
    const asked = client.delete(deployments, 'demo', { namespace, dryRun: true });
    if (
      await asked.then(
        () => true,
        (error: unknown) => !String(error).includes('stays here'),
      )
    )
      throw new Error('Not kept');
  });
  return letGo;
}
