/** The types of link that are made, by the name that an object asks for them by. */
import type { LinkType } from './link-type.ts';
import { veth } from './veth.ts';

export const linkTypes: Readonly<Record<string, LinkType>> = { veth };
