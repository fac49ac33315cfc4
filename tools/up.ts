/**
 * `make up`: the private cluster, then our kinds on it, then what to type next. Everything here can be repeated; a second run finds
 * most of it done.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { binaries, clusterUp } from '@podloom/local';
import { progressOn } from '@podloom/cli';

const startedAt = performance.now();
const progress = progressOn(process.stderr);
const cluster = await clusterUp({ progress: progress.tell }).finally(progress.end);
const built = await binaries();
const kubectl = built.path('kubectl');

run(['apply', '--server-side', '--filename', join(import.meta.dirname, '../deploy/chart/templates/crds')]);
run(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
const kinds = run(['get', 'crd', '--output=name']).trim().split('\n');

console.log(run(['get', 'nodes', '--output=wide']));
console.log(`${kinds.length} kinds established. It took ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`);
console.log(`
To go on:

  export KUBECONFIG=${cluster.kubeconfig} PATH=$PATH:${join(kubectl, '..')}
  kubectl explain podconfig.spec.networkAttachments
  ./podloom cluster status
  make down
`);

function run(args: string[]): string {
  return execFileSync(kubectl, ['--kubeconfig', cluster.kubeconfig, ...args], { encoding: 'utf8' });
}
