/** What `podloom attach` and `podloom detach` do: one element more or less in an annotation of the pod, and then waiting until the node says that it is so. */
import {
  InvalidInput,
  type KubeObject,
  type PodInterfaceStatus,
  type PodNetwork,
  type Resource,
  Unavailable,
  networkAttachmentDefinitionKind,
  networkKind,
  podNetworkKind,
} from '@podloom/api';
import { type Client, type Pod, delay, isConflict, isNotFound, pods, systemClock } from '@podloom/kube';
import { type Edit, type Named, attachTo, detachFrom, linkNamesOf } from '@podloom/network';

export interface Wish {
  readonly pod: string;
  /** As in the annotation: `name` or `namespace/name`. */
  readonly network: string;
  readonly interface?: string | undefined;
  readonly ip?: string | undefined;
  readonly timeoutSeconds: number;
}

/** A refusal that lasts so long is an answer, and not what was there before. */
const refusedAfterMs = 3_000;
const lookEveryMs = 200;
const nobodyStops = new AbortController().signal;

/** Gives a sentence on what was made. */
export async function attach(client: Client, namespace: string, wish: Wish): Promise<string> {
  const named = await networkFor(client, namespace, wish);
  const { key } = await edit(client, namespace, wish, (annotations) => attachTo(annotations, namespace, named));
  const made = await until(client, namespace, wish, (network) => attachedIn(network, key, named));
  return `Pod ${namespace}/${wish.pod} has ${describe(made)} from ${named.kind} ${named.name}`;
}

/** Gives a sentence on what was taken away. */
export async function detach(client: Client, namespace: string, wish: Wish): Promise<string> {
  const there = await networkOf(client, namespace, wish.pod);
  const names = there ? linkNamesOf(there.spec) : new Map<string, string>();
  const change = (annotations: Annotations): Edit & { readonly kind: string } => {
    const failed: InvalidInput[] = [];
    for (const kind of ['NetworkAttachmentDefinition', 'Network'] as const) {
      try {
        const named = { ...placeOf(wish.network, namespace), kind, interface: wish.interface };
        return { ...detachFrom(annotations, namespace, named, (key) => names.get(key)), kind };
      } catch (error) {
        if (!(error instanceof InvalidInput)) throw error;
        failed.push(error);
      }
    }
    throw (
      failed.find(({ code }) => code !== 'NOT_ATTACHED') ?? failed[0] ?? new InvalidInput('NOT_ATTACHED', 'Nothing')
    );
  };
  const { key, kind } = await edit(client, namespace, wish, change);
  const name = names.get(key);
  await until(client, namespace, wish, (network) => goneFrom(network, key));
  return `Pod ${namespace}/${wish.pod} has no ${name ?? 'interface'} from ${kind} ${wish.network} any more`;
}

type Annotations = Readonly<Record<string, string>>;

function placeOf(text: string, namespace: string): { readonly namespace: string; readonly name: string } {
  const [name = '', where = namespace, ...more] = text.split('/').toReversed();
  if (name !== '' && where !== '' && more.length === 0) return { namespace: where, name };
  throw new InvalidInput('NETWORK', `"${text}" must be the name of a network, or namespace/name`);
}

/** A NetworkAttachmentDefinition, or where there is none of that name a Network. */
async function networkFor(client: Client, namespace: string, wish: Wish): Promise<Named> {
  const place = placeOf(wish.network, namespace);
  const asked = { interface: wish.interface, ips: wish.ip === undefined ? undefined : [wish.ip] };
  const definition = networkAttachmentDefinitionKind;
  if (await exists(client, definition.resource, place))
    return { ...place, ...asked, kind: 'NetworkAttachmentDefinition' };
  const isHere = place.namespace === namespace && (await exists(client, networkKind.resource, place));
  if (!isHere)
    throw new InvalidInput(
      'NO_NETWORK',
      `There is no NetworkAttachmentDefinition and no Network ${place.name} in namespace ${place.namespace}; make one first`,
    );
  if (wish.interface !== undefined || wish.ip !== undefined)
    throw new InvalidInput(
      'NETWORK',
      `${place.name} is a Network: its interface is named by it, and has the addresses of its plugin`,
    );
  return { ...place, kind: 'Network' };
}

async function exists<T extends KubeObject>(
  client: Client,
  resource: Resource<T>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<boolean> {
  const { items } = await client.list(resource, { namespace, fieldSelector: `metadata.name=${name}` });
  return items.length > 0;
}

/** Of two that change the list at once, the second looks again. */
async function edit<E extends Edit>(
  client: Client,
  namespace: string,
  { pod: name }: Wish,
  change: (annotations: Annotations) => E,
): Promise<E> {
  for (let attempt = 0; ; attempt += 1) {
    const { metadata } = await podNamed(client, namespace, name);
    const { resourceVersion } = metadata;
    const edited = change(metadata.annotations ?? {});
    const patch = { metadata: { resourceVersion, annotations: { [edited.annotation]: edited.text } } };
    try {
      await client.patch(pods, name, patch, { type: 'merge', namespace });
      return edited;
    } catch (error) {
      if (!isConflict(error) || attempt === 9) throw error;
    }
  }
}

async function podNamed(client: Client, namespace: string, name: string): Promise<Pod> {
  try {
    return await client.get(pods, name, { namespace });
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    throw new InvalidInput('NO_POD', `There is no pod ${name} in namespace ${namespace}`, { cause });
  }
}

async function networkOf(client: Client, namespace: string, pod: string): Promise<PodNetwork | undefined> {
  const fieldSelector = `metadata.name=${pod}`;
  return (await client.list(podNetworkKind.resource, { namespace, fieldSelector })).items[0];
}

/** What a look says: it is so, it is not yet, or it cannot be and why. */
type Seen<T> = { readonly is: T } | { readonly refusal?: string | undefined };

async function until<T>(
  client: Client,
  namespace: string,
  { pod, timeoutSeconds }: Wish,
  look: (network: PodNetwork | undefined) => Seen<T>,
): Promise<T> {
  const startedMs = systemClock.monotonicMs();
  let refused: { readonly why: string; readonly sinceMs: number } | undefined;
  for (;;) {
    const seen = look(await networkOf(client, namespace, pod));
    if ('is' in seen) return seen.is;
    const nowMs = systemClock.monotonicMs();
    const { refusal: why } = seen;
    refused = why === undefined || why === refused?.why ? refused : { why, sinceMs: nowMs };
    if (why === undefined) refused = undefined;
    const isOver = nowMs - startedMs > timeoutSeconds * 1_000;
    if (isOver || (refused && nowMs - refused.sinceMs > refusedAfterMs)) {
      const message = `${refused?.why ?? `It is not so after ${timeoutSeconds} s`}. The annotation says it all the same, and it will be so when it can be; podloom show ${pod} -n ${namespace} tells how far it is`;
      throw new Unavailable('NOT_YET', message);
    }
    await delay(systemClock, lookEveryMs, nobodyStops);
  }
}

const isObserved = ({ metadata, status }: PodNetwork): boolean =>
  (status?.observedGeneration ?? -1) >= (metadata.generation ?? 0);

function attachedIn(network: PodNetwork | undefined, key: string, { kind, name }: Named): Seen<PodInterfaceStatus> {
  const found = network?.status?.interfaces?.find((one) => one.key === key);
  const isAsked = network?.spec.interfaces.some((one) => one.key === key) ?? false;
  if (network && isAsked && isObserved(network) && found?.state === 'Attached') return { is: found };
  if (isAsked && found?.state === 'Failed') return { refusal: found.message ?? found.reason };
  const waiting = network?.spec.waiting?.find(
    ({ source }) => source.name === name && [kind, 'Pod'].includes(source.kind),
  );
  return { refusal: isAsked ? undefined : waiting?.message };
}

function goneFrom(network: PodNetwork | undefined, key: string): Seen<true> {
  if (!network) return { is: true };
  const left = network.status?.interfaces?.find((one) => one.key === key);
  const isAsked = network.spec.interfaces.some((one) => one.key === key);
  if (!isAsked && !left && isObserved(network)) return { is: true };
  return { refusal: left?.state === 'Failed' ? left.message : undefined };
}

const describe = ({ name, addresses = [], macAddress }: PodInterfaceStatus): string =>
  [name, ...addresses, ...(macAddress === undefined ? [] : [macAddress])].join(' ');
