/**
 * What the kinds ask for, in one form. Upstream and our own kinds spell the same wishes differently; behind this file there is only
 * one spelling.
 */
import {
  type AdditionalNetwork,
  type Bridge,
  InvalidInput,
  type KubeObject,
  type PodConfig,
  type PodNetworkConfig,
  type PodNetworkSpec,
  type PrimaryNetwork,
  formatIp,
  isIp,
  parseIp,
} from '@podloom/api';
import { rangeOf } from '../address.ts';
import type { ObjectRef } from './composed.ts';
import { routePlace } from './primary.ts';
import { type SourceObject, chooses } from './sources.ts';

export interface Sources {
  readonly podConfigs?: readonly PodConfig[] | undefined;
  readonly podNetworkConfigs?: readonly PodNetworkConfig[] | undefined;
  readonly additionalNetworks?: readonly AdditionalNetwork[] | undefined;
  readonly primaryNetworks?: readonly PrimaryNetwork[] | undefined;
  readonly bridges?: readonly Bridge[] | undefined;
}

type Labels = Readonly<Record<string, string>>;

/** Who asks, since when (the older wins), and for which pods. */
export interface Asker {
  readonly namespace: string;
  readonly chooses: (labels: Labels) => boolean;
  readonly ref: ObjectRef;
  readonly since: string;
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
export const present = <T extends KubeObject>(objects: readonly T[] | undefined): T[] =>
  (objects ?? []).filter(({ metadata }) => metadata.deletionTimestamp === undefined);

function askerOf(source: SourceObject, fieldPath?: string): Asker {
  const { apiVersion, kind, metadata } = source;
  return {
    namespace: metadata.namespace ?? '',
    chooses: (labels) => chooses(source, labels),
    ref: { apiVersion, kind, name: metadata.name ?? '', ...(fieldPath === undefined ? {} : { fieldPath }) },
    since: metadata.creationTimestamp ?? '',
  };
}

interface Ranged {
  readonly cidr?: string | undefined;
  readonly cidrs?: readonly string[] | undefined;
  readonly gateway?: string | undefined;
  readonly exclude?: readonly string[] | undefined;
}

/** In canonical spelling, so that the same range is the same text. */
const rangesOf = ({ cidr, cidrs, gateway, exclude }: Ranged): RangeWish => ({
  cidrs: (cidrs ?? (cidr === undefined ? [] : [cidr])).map(rangeOf),
  gateway: gateway !== undefined && isIp(gateway) ? formatIp(parseIp(gateway)) : gateway,
  exclude: (exclude ?? []).map(rangeOf),
});

type Attachment =
  | NonNullable<PodConfig['spec']['networkAttachments']>[number]
  | NonNullable<PodNetworkConfig['spec']['additionalNetworks']>[number];

function upstreamLink(asker: Asker, prefix: string, attachment: Attachment): LinkWish {
  const { linkType, master, parent, mtu, hardwareAddr, alias, addresses, routes } = attachment;
  return {
    ...rangesOf(attachment),
    asker,
    key: `${asker.ref.kind}/${asker.ref.name}/${prefix}`,
    namePrefix: prefix,
    linkType,
    bridge: master,
    // The sample PodConfig has the link itself as parent of a veth.
    parent: linkType === 'veth' ? undefined : parent,
    mtuBytes: mtu,
    macAddress: hardwareAddr,
    alias,
    addresses: addresses ?? [],
    routes: routes ?? [],
  };
}

/** Every link that is asked for, for whichever pods. */
export function linkWishes(sources: Sources): LinkWish[] {
  return [
    ...present(sources.podConfigs).flatMap((object) =>
      (object.spec.networkAttachments ?? []).map((attachment, i) => {
        const asker = askerOf(object, `spec.networkAttachments[${i}]`);
        return upstreamLink(asker, attachment.name, attachment);
      }),
    ),
    ...present(sources.podNetworkConfigs).flatMap((object) =>
      (object.spec.additionalNetworks ?? []).map((attachment, i) => {
        const asker = askerOf(object, `spec.additionalNetworks[${i}]`);
        return upstreamLink(asker, attachment.networkName, attachment);
      }),
    ),
    ...present(sources.additionalNetworks).map((object): LinkWish => {
      const { spec } = object;
      const asker = askerOf(object);
      return Object.assign(rangesOf(spec), {
        asker,
        // A name and a prefix of the same letters are two interfaces: who has one does not get the link name of the other. No name has a colon.
        key: `${asker.ref.kind}/${asker.ref.name}/${spec.name === undefined ? spec.namePrefix : `name:${spec.name}`}`,
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

export function primaryWishes(sources: Sources): PrimaryWish[] {
  return [
    ...present(sources.podNetworkConfigs)
      .filter(({ spec }) => spec.eth0?.mtu !== undefined)
      .map((object) => ({
        asker: askerOf(object, 'spec.eth0'),
        primary: { interfaceName: 'eth0', mtuBytes: object.spec.eth0?.mtu },
      })),
    ...present(sources.primaryNetworks).map((object) => {
      const { interfaceName, mtuBytes, txQueueLength, sysctls, routes } = object.spec;
      return {
        asker: askerOf(object),
        primary: { interfaceName, mtuBytes, txQueueLength, sysctls, routes },
      };
    }),
  ];
}

/** A Bridge chooses no pods: it says what the bridge is like for those who do. */
export const bridgeWishes = (sources: Sources): BridgeWish[] =>
  present(sources.bridges).map((object) =>
    Object.assign(rangesOf(object.spec), {
      asker: askerOf(object),
      name: object.spec.name,
      mtuBytes: object.spec.mtu,
    }),
  );

/** What is wrong with texts that were admitted all the same, by older rules or because the server reads them otherwise. */
export function unreadable(sources: Sources): string | undefined {
  try {
    bridgeWishes(sources);
    for (const { primary } of primaryWishes(sources)) checkRoutes(primary.routes ?? []);
    for (const { addresses, routes } of linkWishes(sources)) {
      addresses.forEach(parseIp);
      checkRoutes(routes);
    }
    return undefined;
  } catch (error) {
    if (error instanceof InvalidInput) return error.message;
    throw error;
  }
}

function checkRoutes(routes: LinkWish['routes']): void {
  const places = routes.map(routePlace);
  const twice = places.find((place, i) => places.indexOf(place) < i);
  if (twice !== undefined) throw new InvalidInput('ROUTES', `Two routes lead to ${twice}; choose another metric`);
}

/** By creation, which counts whole seconds, then kind and name, so that whoever writes several at once knows which wins; within an object as written. */
export function byAge(a: { readonly asker: Asker }, b: { readonly asker: Asker }): number {
  const [x = '', y = ''] = [a.asker, b.asker].map(({ since, ref }) => {
    const path = (ref.fieldPath ?? '').replaceAll(/\d+/g, (digits) => digits.padStart(4, '0'));
    return `${since} ${ref.kind} ${ref.name} ${path}`;
  });
  return x < y ? -1 : x > y ? 1 : 0;
}
