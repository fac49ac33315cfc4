/**
 * What the kinds ask for, in one form. Upstream and our own kinds spell the same wishes differently; behind this file there is only
 * one spelling.
 */
import {
  type AdditionalNetwork,
  type Bridge,
  type KubeObject,
  type PodConfig,
  type PodNetworkConfig,
  type PodNetworkSpec,
  type PrimaryNetwork,
  podConfigLabel,
  podNetworkConfigLabel,
} from '@podloom/api';
import type { ObjectRef, PodIdentity } from './composed.ts';
import { selects } from './selects.ts';

export interface Sources {
  readonly podConfigs?: readonly PodConfig[] | undefined;
  readonly podNetworkConfigs?: readonly PodNetworkConfig[] | undefined;
  readonly additionalNetworks?: readonly AdditionalNetwork[] | undefined;
  readonly primaryNetworks?: readonly PrimaryNetwork[] | undefined;
  readonly bridges?: readonly Bridge[] | undefined;
}

/** Who asks, and since when: the older wins. */
export interface Asker {
  readonly ref: ObjectRef;
  readonly since: string;
  readonly uid: string;
}

export interface RangeWish {
  readonly cidrs: readonly string[];
  readonly gateway?: string | undefined;
  readonly exclude: readonly string[];
}

export interface LinkWish extends RangeWish {
  readonly asker: Asker;
  readonly key: string;
  readonly name?: string | undefined;
  readonly namePrefix?: string | undefined;
  readonly linkType: AdditionalNetwork['spec']['linkType'];
  readonly bridge?: string | undefined;
  readonly parent?: string | undefined;
  readonly mtuBytes?: number | undefined;
  readonly macAddress?: string | undefined;
  readonly alias?: string | undefined;
  readonly addresses: readonly string[];
  readonly routes: NonNullable<AdditionalNetwork['spec']['routes']>;
}

export interface PrimaryWish {
  readonly asker: Asker;
  readonly primary: Omit<NonNullable<PodNetworkSpec['primary']>, 'sources'>;
}

export interface BridgeWish extends RangeWish {
  readonly asker: Asker;
  readonly name: string;
  readonly mtuBytes?: number | undefined;
}

/** What is being deleted asks for nothing any more. */
const present = <T extends KubeObject>(objects: readonly T[] | undefined, { namespace }: PodIdentity): T[] =>
  (objects ?? []).filter(
    ({ metadata }) => metadata.namespace === namespace && metadata.deletionTimestamp === undefined,
  );

function askerOf({ apiVersion, kind, metadata }: KubeObject, fieldPath?: string): Asker {
  return {
    ref: { apiVersion, kind, name: metadata.name ?? '', ...(fieldPath === undefined ? {} : { fieldPath }) },
    since: metadata.creationTimestamp ?? '',
    uid: metadata.uid ?? '',
  };
}

interface Ranged {
  readonly cidr?: string | undefined;
  readonly cidrs?: readonly string[] | undefined;
  readonly gateway?: string | undefined;
  readonly exclude?: readonly string[] | undefined;
}

const rangeOf = ({ cidr, cidrs, gateway, exclude }: Ranged): RangeWish => ({
  cidrs: cidrs ?? (cidr === undefined ? [] : [cidr]),
  gateway,
  exclude: exclude ?? [],
});

type Attachment =
  | NonNullable<PodConfig['spec']['networkAttachments']>[number]
  | NonNullable<PodNetworkConfig['spec']['additionalNetworks']>[number];

function upstreamLink(asker: Asker, prefix: string, attachment: Attachment): LinkWish {
  const { linkType, master, parent, mtu, hardwareAddr, alias, addresses, routes } = attachment;
  return {
    ...rangeOf(attachment),
    asker,
    key: `${asker.ref.kind}/${asker.ref.name}/${prefix}`,
    namePrefix: prefix,
    linkType,
    bridge: master,
    // Seeds write the link itself as parent of a veth.
    parent: linkType === 'veth' ? undefined : parent,
    mtuBytes: mtu,
    macAddress: hardwareAddr,
    alias,
    addresses: addresses ?? [],
    routes: routes ?? [],
  };
}

/** Every link that is asked for this pod. */
export function linkWishes(pod: PodIdentity, sources: Sources): LinkWish[] {
  return [
    ...present(sources.podConfigs, pod)
      .filter(({ metadata }) => pod.labels[podConfigLabel] === metadata.name)
      .flatMap((object) =>
        (object.spec.networkAttachments ?? []).map((attachment, i) =>
          upstreamLink(askerOf(object, `spec.networkAttachments[${i}]`), attachment.name, attachment),
        ),
      ),
    ...present(sources.podNetworkConfigs, pod)
      .filter(({ metadata }) => pod.labels[podNetworkConfigLabel] === metadata.name)
      .flatMap((object) =>
        (object.spec.additionalNetworks ?? []).map((attachment, i) =>
          upstreamLink(askerOf(object, `spec.additionalNetworks[${i}]`), attachment.networkName, attachment),
        ),
      ),
    ...present(sources.additionalNetworks, pod)
      .filter(({ spec }) => selects(spec.podSelector, pod.labels))
      .map((object): LinkWish => {
        const { spec } = object;
        const asker = askerOf(object);
        return Object.assign(rangeOf(spec), {
          asker,
          key: `${asker.ref.kind}/${asker.ref.name}/${spec.name ?? spec.namePrefix ?? ''}`,
          name: spec.name,
          namePrefix: spec.namePrefix,
          linkType: spec.linkType,
          bridge: spec.bridge,
          parent: spec.linkType === 'veth' ? undefined : spec.parent,
          mtuBytes: spec.mtuBytes,
          macAddress: spec.macAddress,
          alias: spec.alias,
          addresses: spec.addresses ?? [],
          routes: spec.routes ?? [],
        });
      }),
  ];
}

export function primaryWishes(pod: PodIdentity, sources: Sources): PrimaryWish[] {
  return [
    ...present(sources.podNetworkConfigs, pod)
      .filter(
        ({ metadata, spec }) => pod.labels[podNetworkConfigLabel] === metadata.name && spec.eth0?.mtu !== undefined,
      )
      .map((object) => ({
        asker: askerOf(object, 'spec.eth0'),
        primary: { interfaceName: 'eth0', mtuBytes: object.spec.eth0?.mtu },
      })),
    ...present(sources.primaryNetworks, pod)
      .filter(({ spec }) => selects(spec.podSelector, pod.labels))
      .map((object) => {
        const { interfaceName, mtuBytes, txQueueLength, sysctls, routes } = object.spec;
        return { asker: askerOf(object), primary: { interfaceName, mtuBytes, txQueueLength, sysctls, routes } };
      }),
  ];
}

export const bridgeWishes = (pod: PodIdentity, sources: Sources): BridgeWish[] =>
  present(sources.bridges, pod).map((object) =>
    Object.assign(rangeOf(object.spec), { asker: askerOf(object), name: object.spec.name, mtuBytes: object.spec.mtu }),
  );

/** Objects outlive their spelling of time: by creation, then uid. */
export const byAge = (a: { readonly asker: Asker }, b: { readonly asker: Asker }): number => {
  const [x, y] = [a.asker, b.asker].map(
    ({ since, uid, ref }) => `${since} ${uid} ${ref.kind} ${ref.name} ${ref.fieldPath ?? ''}`,
  );
  return x! < y! ? -1 : x! > y! ? 1 : 0;
};
