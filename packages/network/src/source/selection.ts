/** What the two kinds share that pods name in an annotation, and that CNI plugins carry out. */
import { InvalidInput, type KubeObject, networkAttachmentDefinitionKind, networkKind } from '@podloom/api';
import type { CniList } from '../cni/config.ts';
import type { Selection } from '../cni/element.ts';
import { type CniWish, checkCapabilities } from '../cni/render.ts';
import { refOf, sourceOf } from './attachment.ts';
import type { LinkRequest, ObjectRef, PodIdentity, PodRequests, Problem } from './source.ts';

/** Whether a key is of an interface that a CNI plugin makes, also if it is in no spec any more. */
export const isByPlugin = (key: string): boolean => {
  const [kind] = key.split('/');
  return kind === networkKind.kind || kind === networkAttachmentDefinitionKind.kind;
};

interface Chosen {
  readonly selection: Selection;
  readonly key: string;
  readonly name: string;
}

type Asked = Pick<CniWish, 'ips' | 'mac' | 'cniArgs' | 'args' | 'macInArgs'>;

/** The names of all of them, each once. */
export function namesOf(selections: readonly Selection[]): { readonly namespace: string; readonly name: string }[] {
  const places = new Map(selections.map(({ namespace, name }) => [`${namespace}/${name}`, { namespace, name }]));
  return [...places.values()];
}

/** What the object gives for those elements that name it. An element fails alone. */
export function requestsFor<T extends KubeObject>(
  object: T,
  pod: PodIdentity,
  chosen: readonly Chosen[],
  { configOf, ask, first }: { configOf: (object: T) => CniList; ask: (selection: Selection) => Asked; first: number },
): PodRequests {
  const { namespace = '', name = '' } = object.metadata;
  const source = sourceOf(object);
  const mine = chosen.filter(({ selection }) => selection.namespace === namespace && selection.name === name);
  let list: CniList;
  try {
    list = configOf(object);
    checkCapabilities(list);
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    return { problems: [{ ref: source.ref, reason: 'InvalidConfig', message: `Network ${name}: ${error.message}` }] };
  }
  const links: (LinkRequest & { readonly bridge?: undefined })[] = [];
  const problems: Problem[] = [];
  for (const { selection, key, name: link } of mine) {
    const problem = problemOf(selection, link, refOf(object));
    if (problem) problems.push(problem);
    else {
      links.push({
        source,
        key,
        name: link,
        link: { type: 'veth' },
        cni: { list, network: { namespace, name }, podNamespace: pod.namespace, ...ask(selection) },
        order: first + selection.index,
        cidrs: [],
        exclude: [],
        addresses: [],
        routes: [],
      });
    }
  }
  return { links, problems };
}

function problemOf({ unsupported, name }: Selection, link: string, ref: ObjectRef): Problem | undefined {
  if (unsupported.length > 0) {
    const message = `The pod asks network ${name} for ${unsupported.join(', ')}, which is not offered yet; take it out`;
    return { ref, reason: 'UnsupportedField', message };
  }
  if (link !== 'eth0' && link !== 'lo') return undefined;
  const message = `The pod has an interface ${link} that is not Podloom's; choose another name for network ${name}`;
  return { ref, reason: 'InterfaceConflict', message };
}
