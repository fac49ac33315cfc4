/** Writes what the processes of a cluster read. Done at every start, so that a newer version of ours brings its own. */
import { constants, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Binaries } from '../binaries/build.ts';
import type { ClusterPlan } from '../cluster/plan.ts';
import { renderAuthentication } from '../config/authentication.ts';
import { authenticationFile } from '../config/control-plane.ts';
import {
  kubeletSysctls,
  renderCni,
  renderContainerd,
  renderCorefile,
  renderKubelet,
  renderProxy,
} from '../config/node.ts';

const cniPlugins = ['bridge', 'host-local', 'loopback', 'macvlan', 'portmap', 'ptp', 'static'];

export async function writeFiles(plan: ClusterPlan, built: Binaries): Promise<void> {
  await mkdir(plan.logs, { recursive: true });
  await write(join(plan.dir, 'Corefile'), renderCorefile(plan));
  // An issuer is believed when it answers, not before.
  await write(authenticationFile(plan.dir), renderAuthentication());
  await Promise.all(
    plan.members.map(async (node) => {
      const own = (file: string) => join(node.dir, file);
      await write(own('containerd.toml'), renderContainerd(plan));
      await write(own('kubelet.json'), renderKubelet(plan, node));
      await write(own('proxy.json'), renderProxy(plan, node));
      await write(own('resolv.conf'), `nameserver ${plan.controlAddress}\n`);
      await write(own('cni-conf/10-podloom.conflist'), renderCni(node));
      for (const [name, value] of Object.entries(kubeletSysctls)) await write(own(`sysctl/${name}`), `${value}\n`);
      await mkdir(own('cni-bin'), { recursive: true });
      for (const plugin of cniPlugins) {
        await copyFile(built.path(plugin), own(`cni-bin/${plugin}`), constants.COPYFILE_FICLONE);
      }
    }),
  );
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}
