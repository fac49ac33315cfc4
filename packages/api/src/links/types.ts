/** The types of link that are made. A name that is not here is accepted, and the object says that it is not offered yet. */
import * as z from 'zod';
import { type LinkType, deviceName, linkTypes } from '../schema/fields.ts';
import type { LinkFields } from './link-fields.ts';
import { veth } from './veth.ts';

const made: Readonly<Partial<Record<LinkType, LinkFields>>> = { veth };

/** Fields of types that are not made yet. */
const unmadeShape = {
  parent: deviceName(
    'Device on the node that the link is a part of, for vlan, macvlan, macvtap, ipvlan and ipvtap. Ignored for veth, which has no parent.',
  ).optional(),
  vlanID: z.int().min(1).max(4094).describe('VLAN id, for linkType vlan.').optional(),
};

/** What an object may say of a link that only some types have. */
export const typeShape = { ...unmadeShape, ...veth.fields };

export const typeRules = Object.values(made).flatMap(({ rules }) => rules);

export const typeDescriptions = Object.entries(made)
  .map(([name, { description }]) => `${name} ${description}.`)
  .join(' ');

/** A link as a PodNetwork has it: the type, and what only this type has. Nobody but the type reads that. */
export type Link = Readonly<{ type: LinkType }> & Readonly<Record<string, unknown>>;

/** Of all that an object says of a link what its type has fields for. */
export function linkOf(asked: Readonly<{ linkType: LinkType }> & Readonly<Record<string, unknown>>): Link {
  const { linkType: type } = asked;
  const names = Object.keys(made[type]?.fields ?? unmadeShape);
  const own = names.flatMap((name) => (asked[name] === undefined ? [] : [[name, asked[name]] as const]));
  return { type, ...Object.fromEntries(own) };
}

export const link = z
  .looseObject({ type: z.enum(linkTypes).describe('Type of the link, as `ip link add type` names it.') })
  .meta({ 'x-kubernetes-preserve-unknown-fields': true });
