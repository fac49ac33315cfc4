/** What a type of link is to those who ask for one: a file of this folder and a row in `types.ts`. Its plan is in packages/network/src/link. */
import type * as z from 'zod';
import type { Rule } from '../schema/rule.ts';

export interface LinkFields {
  /** The end of a sentence that begins with the name of the type. */
  readonly description: string;
  /** What objects may say of this type besides linkType. A field that two types have is said by both alike. */
  readonly fields: Readonly<Record<string, z.ZodType>>;
  readonly rules: readonly Rule<Readonly<Record<string, unknown>>>[];
}
