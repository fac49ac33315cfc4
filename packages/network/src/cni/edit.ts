/** One element more, or less, in the annotations by which a pod names its networks. What others wrote there stays as it is, keys that nobody knows included. */
import { InvalidInput, networkAttachmentDefinitionKind, networkKind } from '@podloom/api';
import { interfaceKey } from '../source/key.ts';
import { type Selection, longestAnnotation } from './element.ts';
import { kaloomAnnotation, kaloomDevice, readKaloomAnnotation } from './kaloom-annotation.ts';
import { type JsonObject, isObject, readJson } from './json.ts';
import { nadAnnotation, readNadAnnotation } from './nad-annotation.ts';

export interface Named {
  readonly kind: 'Network' | 'NetworkAttachmentDefinition';
  readonly namespace: string;
  readonly name: string;
  readonly interface?: string | undefined;
  readonly ips?: readonly string[] | undefined;
}

/** An annotation as it is to be, and the key of the interface that comes or goes by it. */
export interface Edit {
  readonly annotation: string;
  /** Null where nothing is left in it. */
  readonly text: string | null;
  readonly key: string;
}

type Annotations = Readonly<Record<string, string>>;

export const annotationOf = (kind: Named['kind']): string => (kind === 'Network' ? kaloomAnnotation : nadAnnotation);

/** Throws InvalidInput where what is there cannot be read, or has it already. */
export function attachTo(annotations: Annotations, podNamespace: string, named: Named): Edit {
  const annotation = annotationOf(named.kind);
  const before = elementsOf(annotations, annotation, podNamespace);
  const { name, interface: link, ips } = named;
  const added: JsonObject =
    named.kind === 'Network' ? { name } : { ...writtenOf(named, podNamespace), ...(ips && { ips }) };
  const text = JSON.stringify([...before, added]);
  const keys = keysIn(named.kind, text, podNamespace);
  const key = keys.at(-1)?.key ?? '';
  if (
    keys.filter((one) => one.key === key).length > 1 ||
    keysIn(named.kind, JSON.stringify(before), podNamespace).some((one) => one.key === key)
  )
    throw new InvalidInput(
      'ATTACHED',
      `The pod names network ${name} already${link === undefined ? '' : ` for ${link}`}`,
    );
  return { annotation, text, key };
}

/** `nameOf` tells what an interface is called. */
export function detachFrom(
  annotations: Annotations,
  podNamespace: string,
  named: Named,
  nameOf: (key: string) => string | undefined,
): Edit {
  const annotation = annotationOf(named.kind);
  const before = elementsOf(annotations, annotation, podNamespace);
  const all = keysIn(named.kind, JSON.stringify(before), podNamespace).filter(
    ({ selection }) => selection.namespace === named.namespace && selection.name === named.name,
  );
  const { interface: link } = named;
  const found = all.filter(({ key, selection }) => link === undefined || (selection.interface ?? nameOf(key)) === link);
  const [one, ...others] = found;
  if (!one)
    throw new InvalidInput(
      'NOT_ATTACHED',
      `The pod names no network ${named.name}${link === undefined ? '' : ` for ${link}`}`,
    );
  if (others.length > 0) {
    const names = found.map(({ key, selection }) => selection.interface ?? nameOf(key) ?? 'one that is not there');
    throw new InvalidInput(
      'SEVERAL',
      `The pod has several interfaces of ${named.name}: ${names.join(', ')}; name one with --interface`,
    );
  }
  // Those without a name are told apart by their number alone, so only the last can go without another taking its place.
  const last = all.findLast(({ selection }) => selection.interface === undefined);
  if (one.selection.interface === undefined && last !== one)
    throw new InvalidInput(
      'NOT_LAST',
      `Of the interfaces of ${named.name} that the annotation gives no name, only the last can go: ${nameOf(last?.key ?? '') ?? 'not there yet'}`,
    );
  const left = before.filter((_, index) => index !== one.selection.index);
  return { annotation, text: left.length === 0 ? null : JSON.stringify(left), key: one.key };
}

const writtenOf = (
  { namespace, name, interface: link }: Pick<Named, 'namespace' | 'name' | 'interface'>,
  podNamespace: string,
): JsonObject => ({
  name,
  ...(namespace !== podNamespace && { namespace }),
  ...(link !== undefined && { interface: link }),
});

/** As they are written; text in the form of JSON. */
function elementsOf(annotations: Annotations, annotation: string, podNamespace: string): readonly JsonObject[] {
  const text = annotations[annotation] ?? '';
  if (annotation === nadAnnotation && !/[[{"]/.test(text))
    return readNadAnnotation(text, podNamespace).map((one) => writtenOf(one, podNamespace));
  const value = text.trim() === '' ? [] : readJson(text, annotation, longestAnnotation);
  if (Array.isArray(value) && value.every(isObject)) return value;
  throw new InvalidInput('ANNOTATION', `${annotation} of the pod must be a list of objects; mend it first`);
}

function keysIn(
  kind: Named['kind'],
  text: string,
  podNamespace: string,
): { readonly selection: Selection; readonly key: string }[] {
  if (kind === 'Network')
    return readKaloomAnnotation(text, podNamespace).map((selection) => ({
      selection,
      key: interfaceKey(
        { ...networkKind, namespace: podNamespace, name: selection.name },
        kaloomDevice(selection.name),
      ),
    }));
  const counts = new Map<string, number>();
  return readNadAnnotation(text, podNamespace).map((selection) => {
    const { namespace, name, interface: link } = selection;
    const place = `${namespace}/${name}`;
    const nth = (counts.get(place) ?? 0) + 1;
    if (link === undefined) counts.set(place, nth);
    return { selection, key: definitionKey(selection, nth, podNamespace) };
  });
}

/** One that the pod gives no name is known by its number among those of its network, which no interface can be called. */
export const definitionKey = (
  { namespace, name, interface: link }: Selection,
  nth: number,
  podNamespace: string,
): string => interfaceKey({ ...networkAttachmentDefinitionKind, namespace, name }, link ?? `:${nth}`, podNamespace);
