/** NetworkAttachmentDefinition: an interface for each time that a pod names it in the annotation of the multi-network standard. */
import { type NetworkAttachmentDefinition, networkAttachmentDefinitionKind } from '@podloom/api';
import { configOfDefinition } from '../cni/config.ts';
import { definitionKey } from '../cni/edit.ts';
import { type Selection, mostElements } from '../cni/element.ts';
import { nadAnnotation, readNadAnnotation } from '../cni/nad-annotation.ts';
import { chooseInterfaces } from '../cni/names.ts';
import { namesOf, requestsFor } from './selection.ts';
import type { PodIdentity, SourceType } from './source.ts';

const read = ({ namespace, annotations }: PodIdentity): Selection[] =>
  readNadAnnotation(annotations?.[nadAnnotation] ?? '', namespace);

export const networkAttachmentDefinitionSource: SourceType<NetworkAttachmentDefinition> = {
  kind: networkAttachmentDefinitionKind,
  annotations: [nadAnnotation],
  namedBy: (pod) => namesOf(read(pod)),
  requests: () => ({}),
  requestsIn(object, pod) {
    const chosen = chooseInterfaces(
      read(pod),
      (selection, nth) => definitionKey(selection, nth, pod.namespace),
      pod.linkNames ?? new Map(),
    );
    // After those of the other annotation, whatever order the two are written in.
    return requestsFor(object, pod, chosen, { configOf: configOfDefinition, ask: asked, first: mostElements });
  },
};

const asked = ({ ips, mac, cniArgs }: Selection) => ({
  ...(ips && { ips }),
  ...(mac !== undefined && { mac }),
  ...(cniArgs && { cniArgs }),
});
