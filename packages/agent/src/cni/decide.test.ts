import { expect, it } from 'vitest';
import { attachment } from '../testing/attachment.ts';
import type { Attachment } from './attachment.ts';
import { decide } from './decide.ts';
import type { Entry } from './journal.ts';

const made = (more: Partial<Attachment> = {}): Entry => ({ attachment: attachment(more), result: {} });
const begun = (more: Partial<Attachment> = {}): Entry => ({ attachment: attachment(more) });
const other = { interfaceName: 'net2', key: 'NetworkAttachmentDefinition/data/1' };

it.each([
  ['adds what is not there', [attachment()], [], 0, 1],
  ['leaves alone what is there', [attachment()], [made()], 0, 0],
  ['takes away what is no longer asked for', [], [made(), made(other)], 2, 0],
  ['takes away, and only then adds, what is asked for otherwise', [attachment({ config: '{}' })], [made()], 1, 1],
  ['does the same for an argument', [attachment({ args: [{ name: 'A', value: 'b' }] })], [made()], 1, 1],
  ['does the same for an address', [attachment({ capabilities: { ips: ['10.0.0.1'] } })], [made()], 1, 1],
  ['does the same for another sandbox', [attachment({ sandboxId: 'n3w' })], [made()], 1, 1],
  [
    'does the same for another pod of the name',
    [attachment({ pod: { ...attachment().pod, uid: 'x' } })],
    [made()],
    1,
    1,
  ],
  ['undoes first what an agent began that was killed', [attachment()], [begun()], 1, 1],
  ['undoes what was begun and is not asked for', [], [begun()], 1, 0],
  ['does not mind another process of the same sandbox', [attachment({ netns: { pid: 9, inode: 1 } })], [made()], 0, 0],
] as const)('%s', (_, wanted, entries, removed, added) => {
  const { remove, add, keep } = decide(wanted, entries);
  expect([remove.length, add.length]).toEqual([removed, added]);
  expect(keep.length).toBe(entries.length - removed);
});

it('removes in reverse order, and makes anew what is broken', () => {
  const entries = [made(), made(other)];
  expect(decide([], entries).remove).toEqual(entries.toReversed());
  const broken = decide([attachment(), attachment(other)], entries, (entry) => entry === entries[1]);
  expect(broken).toEqual({ remove: [entries[1]], add: [attachment(other)], keep: [entries[0]] });
});
