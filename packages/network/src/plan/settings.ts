/** The settings of a link that differ from what is wanted, with what was there. */
import type { ObservedLink } from './observed.ts';
import type { LinkSettings } from './step.ts';

export type SettingChange = { readonly set: LinkSettings; readonly was?: LinkSettings };

/**
 * Undefined where nothing differs. A link that is not there yet gets all of it; one that shows no address mode has no IPv6, as below 1280 bytes, and the
 * kernel refuses any until it has.
 */
export function changedSettings(wanted: LinkSettings, link: ObservedLink | undefined): SettingChange | undefined {
  if (!link) return { set: wanted };
  const names = (Object.keys(wanted) as (keyof LinkSettings)[]).filter(
    (name) => wanted[name] !== link[name] && (name !== 'addrGenMode' || link.addrGenMode !== undefined),
  );
  if (names.length === 0) return undefined;
  const pick = (from: LinkSettings | ObservedLink): LinkSettings =>
    Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])));
  return { set: pick(wanted), was: pick(link) };
}
