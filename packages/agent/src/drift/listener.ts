/** From what the kernel tells of node and pods to what should be looked at again. */
import { type ObjectKey } from '@podloom/kube';
import type { MonitorEvent } from '@podloom/netlink';
import { isOurs, routeProtocol } from '@podloom/network';
import type { NodeView } from '../observe/node.ts';

/** The name under which the node's namespace is listened to; no PodNetwork is called so. */
export const nodeName = '';

export interface ListenerOptions {
  readonly view: NodeView;
  readonly ports: ReadonlyMap<string, ObjectKey>;
  readonly look: (key: ObjectKey) => void;
  readonly lookAtAll: () => void;
  readonly tidy: () => void;
  /** The process that held the pod's namespace ended. */
  readonly gone: (key: ObjectKey) => void;
}

export function driftListener(options: ListenerOptions): (event: MonitorEvent<string>) => void {
  const { view, ports, look, lookAtAll, tidy, gone } = options;
  let isAsked = false;

  /** Many messages come for one change; all that are there are read before anything is done. */
  function readSoon(): void {
    if (isAsked) return;
    isAsked = true;
    setImmediate(() => {
      isAsked = false;
      for (const { old, now } of view.refresh()) {
        const names = [old?.name, now?.name].filter((name) => name !== undefined);
        for (const name of names) {
          const key = ports.get(name);
          if (key !== undefined) look(key);
        }
        if ([old, now].some((link) => link && isOurs(link) && link.kind === 'bridge')) tidy();
      }
    });
  }

  function hearNode(event: MonitorEvent<string>): void {
    switch (event.kind) {
      case 'link':
        view.touch(event.link.index);
        break;
      case 'port':
        view.touch(event.port.index);
        break;
      case 'address':
        view.touch(event.address.index);
        break;
      case 'route':
        if (event.route.protocol !== routeProtocol) return;
        view.touchRouting();
        break;
      case 'overflow':
        view.touchAll();
        lookAtAll();
        tidy();
        return;
      case 'neighbour':
      case 'fdb':
      case 'gone':
      default:
        return;
    }
    readSoon();
  }

  return (event) => {
    if (event.in === nodeName) hearNode(event);
    else if (event.kind === 'gone') gone(event.in as ObjectKey);
    else look(event.in as ObjectKey);
  };
}
