/** What the kernel has on record about a process. Processor time, unlike time, does not grow when others use the machine. */
import { readFileSync } from 'node:fs';
import type { Part, World } from './world.ts';

export interface Memory {
  /** Resident. */
  readonly allMib: number;
  /** Of it, what is of no file: every process of a node shares the files, such as the runtime itself. */
  readonly ownMib: number;
  /** The most that was ever resident. */
  readonly mostMib: number;
}

export function memoryOf(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1024;
  return { allMib: mib('VmRSS'), ownMib: mib('RssAnon'), mostMib: mib('VmHWM') };
}

/** User and system time; the kernel shows hundredths of a second. */
export function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

export type CpuByPart = Record<Part, number>;

/** Of all processes of a part together. */
export function cpuByPart({ processes }: World): CpuByPart {
  const total = (part: Part): number => processes[part].reduce((sum, pid) => sum + cpuMs(pid), 0);
  return { operator: total('operator'), agent: total('agent'), apiserver: total('apiserver'), etcd: total('etcd') };
}

export const cpuSince = (before: CpuByPart, now: CpuByPart): CpuByPart => ({
  operator: now.operator - before.operator,
  agent: now.agent - before.agent,
  apiserver: now.apiserver - before.apiserver,
  etcd: now.etcd - before.etcd,
});
