import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { objectKey } from '@podloom/kube';
import { open } from '@podloom/netlink';
import { expect, it } from 'vitest';
import { netnsOf } from '../cri/finder.ts';
import { servedPods } from './served.ts';

it('does not take the namespace of another process that has the number now, and looks again once it listens', async () => {
  using netns = open({ create: true });
  const child = netns.run(() => spawn('sleep', ['infinity']) as ReturnType<typeof spawn> & { then?: never });
  await once(child, 'spawn');
  const pid = child.pid!;
  const heard: string[] = [];
  const again: string[] = [];
  const listening = { add: (key: string) => void heard.push(key), remove: () => undefined };
  const served = servedPods(listening, (key) => again.push(key));
  const key = objectKey('pod', 'here');
  const process = { sandboxId: 's', netnsPid: pid, pid, inode: netnsOf(pid)!, hasContainer: true };
  try {
    expect(() => served.ensure(key, 'uid', { ...process, inode: process.inode + 1 }, false)).toThrow(
      expect.objectContaining({ code: 'POD_ENDED', retry: 'backoff' }),
    );
    expect([served.size, heard]).toEqual([0, []]);
    served.ensure(key, 'uid', process, false);
    expect([served.size, heard]).toEqual([1, []]);
    for (let times = 0; times < 2; times += 1) served.listen(key);
    expect([heard, again]).toEqual([[key], [key]]);
  } finally {
    served.closeAll();
    child.kill('SIGKILL');
  }
});
