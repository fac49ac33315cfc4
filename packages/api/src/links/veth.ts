import type { LinkFields } from './link-fields.ts';

/** The default. Its bridge is a field of every link. */
export const veth = {
  description: 'is a pair of links: one end in the pod, the other on a bridge of the node',
  fields: {},
  rules: [],
} satisfies LinkFields;
