/** The types of link that are made, by the name that an object asks for them by. Their fields are in packages/api/src/links. */
import type { LinkType } from './link-type.ts';
import { veth } from './veth.ts';

export const linkTypes: Readonly<Record<string, LinkType>> = { veth };
