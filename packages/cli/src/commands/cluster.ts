/** `podloom cluster …`: a private, real Kubernetes on this machine. What it does is in the package `local`. */
import { spawn } from 'node:child_process';
import type { ClusterStatus, PartStatus } from '@podloom/local';
import { Command, InvalidArgumentError, Option } from 'commander';
import { formatAge, formatTable, type OutputFormat, outputOption } from '../print.ts';
import { progressOn } from '../progress.ts';

/** Loaded when needed: the image's processes never do, and a mistyped command should answer at once. */
const local = () => import('@podloom/local');

export function clusterCommand(): Command {
  return new Command('cluster')
    .description('a private, real Kubernetes on this machine; needs root')
    .addCommand(up())
    .addCommand(down())
    .addCommand(status())
    .addCommand(kubeconfig())
    .addCommand(load())
    .addCommand(exec())
    .addCommand(logs());
}

const nameOption = () => new Option('--name <name>', 'which cluster; several live side by side').default('podloom');

function up(): Command {
  return new Command('up')
    .description('start it; what is missing is built once; a running cluster is left as it is')
    .addOption(nameOption())
    .option('--nodes <count>', 'number of nodes (default: 2, or as many as it has)', parseCount)
    .option('--with <parts>', 'what labs need, also for a running cluster: storage,identity,registry', parseList)
    .action(async ({ name, nodes, with: parts = [] }: { name: string; nodes?: number; with?: string[] }) => {
      const startedAt = performance.now();
      const progress = progressOn(process.stderr);
      const { clusterUp, parsePartNames } = await local();
      const cluster = await clusterUp({
        name,
        ...(nodes !== undefined && { nodes }),
        with: parsePartNames(parts),
        progress: progress.tell,
      }).finally(progress.end);
      const took = ((performance.now() - startedAt) / 1000).toFixed(1);
      const ready = `${cluster.nodes.length} nodes Ready: ${cluster.nodes.join(', ')}`;
      console.log(cluster.started ? `${ready}, in ${took} s` : `${ready}; it was running already`);
      if (cluster.parts.length > 0) console.log(`With ${cluster.parts.join(', ')}; see: podloom cluster status`);
      console.log(`export KUBECONFIG=${cluster.kubeconfig}`);
    });
}

function down(): Command {
  return new Command('down')
    .description('remove it: every process, mount, link, namespace, cgroup and file')
    .addOption(nameOption())
    .action(async ({ name }: { name: string }) => {
      const existed = await (await local()).clusterDown({ name });
      console.log(existed ? `Cluster ${name} is gone` : `There was no cluster ${name}`);
    });
}

function status(): Command {
  return new Command('status')
    .description('show its nodes, processes and addresses')
    .addOption(nameOption())
    .addOption(outputOption())
    .action(async ({ name, output }: { name: string; output: OutputFormat }) => {
      const found = await (await local()).clusterStatus({ name });
      console.log(output === 'json' ? JSON.stringify(found, null, 2) : describeCluster(found, Date.now()));
    });
}

function kubeconfig(): Command {
  return new Command('kubeconfig')
    .description("print the path of the administrator's kubeconfig")
    .addOption(nameOption())
    .action(async ({ name }: { name: string }) => console.log(await (await local()).clusterKubeconfig({ name })));
}

function load(): Command {
  return new Command('load')
    .description('put an image on every node')
    .argument('<archive>', 'OCI archive, such as dist/podloom-image.tar')
    .addOption(nameOption())
    .action(async (archive: string, { name }: { name: string }) => {
      const nodes = await (await local()).clusterLoad({ name, archive });
      console.log(`Loaded on ${nodes.join(', ')}`);
    });
}

function exec(): Command {
  return new Command('exec')
    .description('run a command on a node, in its network and file system: podloom cluster exec n1 -- ip addr')
    .argument('<node>', 'name of the node, such as n1')
    .argument('<command...>', 'command and its arguments, after --')
    .addOption(nameOption())
    .action(async (node: string, command: [string, ...string[]], { name }: { name: string }) => {
      process.exitCode = await (await local()).clusterExec({ name, node, command });
    });
}

function logs(): Command {
  return new Command('logs')
    .description('print the log of one process, as `status` names it, such as n1/kubelet')
    .argument('[process]', 'name of the process', 'supervisor')
    .option('-f, --follow', 'go on as it grows', false)
    .addOption(nameOption())
    .action(async (part: string, { name, follow }: { name: string; follow: boolean }) => {
      const file = await (await local()).clusterLogs({ name, process: part });
      const args = follow ? ['-n', '+1', '-F', file] : ['-n', '+1', file];
      await new Promise((resolve, reject) => {
        spawn('tail', args, { stdio: 'inherit' }).on('close', resolve).on('error', reject);
      });
    });
}

export function describeCluster(cluster: ClusterStatus, now: number): string {
  const nodes = formatTable(cluster.nodes, [
    { title: 'Node', of: (node) => node.name },
    { title: 'Ready', of: (node) => (node.ready === undefined ? 'unknown' : String(node.ready)) },
    { title: 'Address', of: (node) => node.address },
    { title: 'Pods', of: (node) => node.podRange },
  ]);
  const processes = formatTable(cluster.processes, [
    { title: 'Process', of: (part) => part.name },
    { title: 'State', of: (part) => part.state },
    { title: 'Pid', of: (part) => part.pid ?? '-' },
    { title: 'Restarts', of: (part) => part.restarts },
    { title: 'Since', of: (part) => formatAge(now - Date.parse(part.since)) },
    { title: 'Last end', of: (part) => part.lastExit },
  ]);
  const head = [
    `Cluster     ${cluster.name}, ${describePhase(cluster)}`,
    `API server  ${cluster.addresses.apiServer}`,
    `Kubeconfig  ${cluster.kubeconfig}`,
    `Ranges      pods ${cluster.addresses.podRange}, services ${cluster.addresses.serviceRange}`,
  ].join('\n');
  const parts = cluster.parts.map(describePart);
  return [head, nodes, ...(cluster.processes.length > 0 ? [processes] : []), ...parts].join('\n\n');
}

function describePart({ name, state, reason, facts }: PartStatus): string {
  const lines = Object.entries(facts).map(([fact, value]) => `  ${fact.padEnd(20)}${value}`);
  return [`${name}: ${state}${reason ? `, tried again: ${reason}` : ''}`, ...lines].join('\n');
}

function describePhase({ name, phase, step, linked }: ClusterStatus): string {
  if (phase === 'stopped') return `stopped; start it with: podloom cluster up --name ${name}`;
  if (phase === 'starting') return `starting: ${step}`;
  return linked ? phase : `${phase}, but this machine's link pl-${name} into it is gone`;
}

function parseList(text: string): string[] {
  return text.split(',').filter((item) => item !== '');
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, at least 1.');
  return Number(text);
}
