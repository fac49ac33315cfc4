/** Generic netlink: families get their number when they are loaded, so it is asked for by name. */
import { message } from '../codec/message.ts';
import { pad, struct } from '../codec/struct.ts';
import { attr, list, table } from '../codec/table.ts';
import { bytes, text, u16, u32, u8 } from '../codec/type.ts';
import type { Channel } from '../route/channel.ts';
import { request } from '../wire/request.ts';

const CONTROLLER = 16;
const GETFAMILY = 3;

export const genericHeader = struct({ command: u8, version: u8, pad1: pad(2) });

export const controllerMessage = message(
  'controller',
  genericHeader,
  table('controller', {
    id: attr(1, u16),
    name: attr(2, text),
    familyVersion: attr(3, u32),
    headerSize: attr(4, u32),
    maxAttribute: attr(5, u32),
    operations: attr(6, list(table('operation', { id: attr(1, u32), flags: attr(2, u32) }))),
    groups: attr(7, list(table('group', { name: attr(1, text), id: attr(2, u32) }))),
    policy: attr(8, bytes),
    operationPolicy: attr(9, bytes),
    operation: attr(10, u32),
  }),
);

export interface GenericFamily {
  readonly id: number;
  readonly version: number;
  /** Multicast groups by name. */
  readonly groups: Readonly<Record<string, number>>;
}

/** Asks for families, each once: a number lasts as long as the module is loaded. ENOENT where the kernel has none of that name. */
export function controller(channel: Channel): (name: string) => GenericFamily {
  const known = new Map<string, GenericFamily>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const question = { command: GETFAMILY, version: 1, name };
    const seen = channel.get(
      request(`generic.family ${name}`, CONTROLLER, 0, controllerMessage, question),
      controllerMessage,
    );
    const groups = Object.fromEntries((seen.groups ?? []).map((group) => [group.name ?? '', group.id ?? 0]));
    const found = { id: seen.id ?? 0, version: seen.familyVersion ?? 1, groups };
    known.set(name, found);
    return found;
  };
}
