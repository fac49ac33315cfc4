/**
 * What `podloom plan` shows: objects composed and planned with the same functions as operator and agent, against what the agents last
 * reported.
 */
import {
  InvalidInput,
  ipPoolKind,
  type KubeObject,
  type Resource,
  kindOf,
  networkGrantKind,
  podNetworkKind,
  unknownFields,
} from '@podloom/api';
import {
  type Client,
  type Pod,
  isForbidden,
  isNotFound,
  namespaces,
  nodes,
  pods as podResource,
  serviceCidrs,
  toTime,
} from '@podloom/kube';
import {
  bridgeDevices,
  bridgeNamings,
  describePlan,
  grantsFor,
  type Limits,
  type Preview,
  previewPods,
  problemsOf,
  rangesOfNode,
  settleNamespace,
  type SourceObject,
  sourceTypes,
} from '@podloom/network';
import { readManifests } from './manifest.ts';

/** Hears in a sentence what is not in the picture. */
type Tell = (what: string) => void;

/** What is still to be done for one pod. */
export async function planExisting(client: Client, namespace: string, pod: string, tell: Tell): Promise<Preview[]> {
  const previews = await previewNamespace(client, namespace, [], tell, pod);
  const found = previews.filter((preview) => preview.pod === pod);
  if (found.length === 0) {
    throw new InvalidInput(
      'NO_POD',
      `There is no pod ${pod} in namespace ${namespace} that has a node and has not ended`,
    );
  }
  return found;
}

/** What applying a file would do to all pods; those that would not change are left out. */
export async function planFile(client: Client, namespace: string, file: string, tell: Tell): Promise<Preview[]> {
  const kinds = sourceTypes.map(({ kind }) => kind.kind);
  const objects = readManifests(file).flatMap((manifest) => {
    const kind = kindOf(manifest);
    if (!kind || !kinds.includes(kind.kind)) {
      tell(`left out: ${manifest.kind} ${manifest.metadata.name} changes no pod by itself`);
      return [];
    }
    // As strict as kubectl, which has the API server refuse what it would otherwise drop.
    const unknown = unknownFields(kind, manifest);
    if (unknown.length > 0) {
      throw new InvalidInput(
        'UNKNOWN_FIELD',
        `${kind.kind} ${manifest.metadata.name} is not valid: unknown field ${unknown.join(', ')}`,
      );
    }
    return kind.parse({
      ...manifest,
      metadata: { ...manifest.metadata, namespace: manifest.metadata.namespace ?? namespace },
    }) as SourceObject;
  });
  if (objects.length === 0) {
    throw new InvalidInput('PLAN_KIND', `${file}: nothing in it changes a pod; plan takes ${kinds.join(', ')}`);
  }
  const previews: Preview[] = [];
  for (const one of new Set(objects.map(({ metadata }) => metadata.namespace ?? namespace))) {
    const theirs = objects.filter(({ metadata }) => metadata.namespace === one);
    previews.push(...(await previewNamespace(client, one, theirs, tell)));
  }
  return previews.filter(({ steps, conflicts, problems }) => steps.length + conflicts.length + problems.length > 0);
}

async function previewNamespace(
  client: Client,
  namespace: string,
  changed: readonly SourceObject[],
  tell: Tell,
  only?: string,
): Promise<readonly Preview[]> {
  /** Who was granted one kind may not see the others. */
  const listed = async <T extends KubeObject>(resource: Resource<T>): Promise<readonly T[]> => {
    const found = await asFarAsAllowed(async () => (await client.list(resource, { namespace })).items);
    if (!found) tell(`not in the picture: ${resource.plural} of namespace ${namespace}, which you may not list`);
    return found ?? [];
  };
  const [objects, limits, pods, networks, pools] = await Promise.all([
    Promise.all(sourceTypes.map(({ kind }) => listed(kind.resource))),
    readLimits(client, namespace),
    client.list(podResource, { namespace }),
    client.list(podNetworkKind.resource, { namespace }),
    listed(ipPoolKind.resource),
  ]);
  const after = withChanged(objects.flat(), changed);
  const settled = settleNamespace(namespace, after, limits);
  for (const object of changed) {
    for (const { message } of after.filter(isSameAs(object)).flatMap((one) => problemsOf(one, settled))) {
      tell(`${object.kind} ${object.metadata.name}: ${message}`);
    }
  }
  const devices = bridgeDevices([
    ...bridgeNamings(settled),
    ...networks.items.flatMap(({ spec }) =>
      spec.interfaces.flatMap(({ bridge }) =>
        bridge ? [{ namespace, bridge: bridge.name, since: '', device: bridge.device }] : [],
      ),
    ),
  ]);
  return previewPods({
    namespace,
    pods: pods.items
      .filter((pod) => isServed(pod) && (only ?? pod.metadata.name) === pod.metadata.name)
      .map(({ metadata: { name = '', uid = '', labels = {}, annotations }, spec }) => ({
        name,
        uid,
        labels,
        annotations,
        nodeName: spec?.nodeName ?? '',
        hostNetwork: spec?.hostNetwork,
      })),
    settled,
    networks: networks.items,
    pools,
    devices,
    now: new Date().toISOString(),
  });
}

const isServed = ({ metadata, spec, status }: Pod): boolean =>
  spec?.nodeName !== undefined &&
  status?.phase !== 'Succeeded' &&
  status?.phase !== 'Failed' &&
  metadata.deletionTimestamp === undefined;

/** Tenants may mostly read none of this. What they may not read is not in the picture; the operator refuses it all the same. */
async function readLimits(client: Client, namespace: string): Promise<Limits> {
  const [nodeList, services, grants, labels] = await Promise.all([
    asFarAsAllowed(async () => (await client.list(nodes)).items),
    asFarAsAllowed(async () => (await client.list(serviceCidrs)).items),
    asFarAsAllowed(async () => (await client.list(networkGrantKind.resource)).items),
    asFarAsAllowed(async () => [(await client.get(namespaces, namespace)).metadata.labels]),
  ]);
  return {
    reserved: [...(nodeList ?? []).flatMap(rangesOfNode), ...(services ?? []).flatMap(({ spec }) => spec?.cidrs ?? [])],
    grants: grants && grantsFor(namespace, labels?.[0] ?? {}, grants),
  };
}

async function asFarAsAllowed<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return undefined;
    throw error;
  }
}

const placeOf = ({ kind, metadata }: SourceObject): string => `${kind}/${metadata.name}`;
const isSameAs = (object: SourceObject) => (other: SourceObject) => placeOf(object) === placeOf(other);

/** As if the objects had just been applied: one that is there already keeps its age. */
function withChanged(there: readonly SourceObject[], changed: readonly SourceObject[]): SourceObject[] {
  const now = toTime(Date.now());
  const old = new Map(there.map((object) => [placeOf(object), object]));
  const replaced = changed.map((object) => {
    const { creationTimestamp = now } = old.get(placeOf(object))?.metadata ?? {};
    return { ...object, metadata: { ...object.metadata, creationTimestamp } };
  });
  const places = new Set(changed.map(placeOf));
  return [...there.filter((object) => !places.has(placeOf(object))), ...replaced];
}

export function describePreviews(previews: readonly Preview[]): string {
  if (previews.length === 0) return 'Nothing to do: no pod would change.\n';
  return previews
    .map(({ pod, node, steps, conflicts, problems }) =>
      [
        pod === undefined ? `node ${node}, once its pods are as above\n` : `pod ${pod} on node ${node}\n`,
        ...conflicts.map(({ loser, message }) => `! ${loser.kind} ${loser.name}: ${message}\n`),
        ...problems.map((problem) => `! ${problem}\n`),
        // Where something is wrong, no steps do not mean that all is well.
        steps.length === 0 && conflicts.length + problems.length > 0
          ? ''
          : describePlan(steps, { node, pod: pod ?? '' }),
      ].join(''),
    )
    .join('\n');
}
