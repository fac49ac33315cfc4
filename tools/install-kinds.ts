/**
 * `make install`: the kinds alone, as plain CRDs, on the current kubectl context. It can be repeated, also where Helm has taken them over. Kinds of other
 * projects are installed only where they are missing.
 */
import { join } from 'node:path';
import { kinds } from '@podloom/api';
import { demandCluster, messageOf, tools } from './clients.ts';

const folder = join(import.meta.dirname, '../deploy/crds');

/** The names of the kinds that were left to who installed them. */
export async function installKinds({ kubeconfig }: { readonly kubeconfig?: string | undefined } = {}): Promise<
  string[]
> {
  const { kubectl } = await tools(kubeconfig);
  await demandCluster(kubectl);
  // Whatever an earlier version or Helm has written into them.
  const apply = (path: string) => kubectl('apply', '--server-side', '--force-conflicts', `--filename=${path}`);
  await apply(folder);
  const left: string[] = [];
  for (const { plural, group } of kinds.filter(({ foreign }) => foreign)) {
    const name = `${plural}.${group}`;
    const labels = '--output=jsonpath=x{.metadata.labels.app\\.kubernetes\\.io/part-of}';
    const owner = (await kubectl('get', 'customresourcedefinition', name, '--ignore-not-found', labels)).trim();
    if (owner === '' || owner === 'xpodloom') await apply(join(folder, 'foreign', `${name}.yaml`));
    else left.push(name);
  }
  const all = kinds.map(({ plural, group }) => `customresourcedefinition/${plural}.${group}`);
  await kubectl('wait', '--for=condition=Established', '--timeout=2m', ...all);
  return left;
}

if (import.meta.main) {
  try {
    const left = await installKinds();
    for (const name of left) console.log(`${name} is another project's, and stays as it is`);
    console.log(
      `${kinds.length - left.length} kinds installed. To remove them, with all objects: make undeploy CRDS=1`,
    );
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = 1;
  }
}
