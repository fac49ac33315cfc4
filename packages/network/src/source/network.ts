/** Network (kaloom.com): an interface in the pods that name it in the annotation `networks`, called by a hash of its name. */
import { type Network, networkKind } from '@podloom/api';
import { configOfNetwork } from '../cni/config.ts';
import { kaloomAnnotation, kaloomDevice, readKaloomAnnotation } from '../cni/kaloom-annotation.ts';
import type { Selection } from '../cni/element.ts';
import { interfaceKey } from './key.ts';
import { namesOf, requestsFor } from './selection.ts';
import type { PodIdentity, SourceType } from './source.ts';

const read = ({ namespace, annotations }: PodIdentity): Selection[] =>
  readKaloomAnnotation(annotations?.[kaloomAnnotation] ?? '', namespace);

export const networkSource: SourceType<Network> = {
  kind: networkKind,
  annotations: [kaloomAnnotation],
  namedBy: (pod) => namesOf(read(pod)),
  requests: () => ({}),
  requestsIn(object, pod) {
    const chosen = read(pod).map((selection) => {
      const { namespace, name } = selection;
      const device = kaloomDevice(name);
      const ref = { apiVersion: networkKind.apiVersion, kind: networkKind.kind, namespace, name };
      return { selection, key: interfaceKey(ref, device, pod.namespace), name: device };
    });
    return requestsFor(object, pod, chosen, { configOf: configOfNetwork, ask: asked, first: 0 });
  },
  report: () => ({}),
  hint: ({ metadata }) => `give pods the annotation ${kaloomAnnotation}: '[{"name":"${metadata.name}"}]'`,
};

/** In CNI_ARGS both keys always, as the podagent has them. A plugin that reads neither may know `mac`. */
const asked = ({ name, mac }: Selection) => ({
  args: [
    { name: 'K8S_POD_NETWORK', value: name },
    { name: 'K8S_POD_IFMAC', value: mac ?? '' },
  ],
  ...(mac === undefined ? {} : { mac, macInArgs: true }),
});
