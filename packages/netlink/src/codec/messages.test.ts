/**
 * Every message of the package: what is written is what is read, and no input whatever makes the reader throw, hang or look
 * outside its range. `NETLINK_FUZZ_RUNS` sets the number of cases a property (a few thousand in all by default).
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { controllerMessage } from '../generic/controller.ts';
import {
  channelsMessage,
  coalesceMessage,
  featuresMessage,
  linkInfoMessage,
  linkModesMessage,
  linkStateMessage,
  ringsMessage,
} from '../generic/ethtool.ts';
import { seg6Message } from '../generic/seg6.ts';
import { wireguardMessage } from '../generic/wireguard.ts';
import {
  batchMessage,
  chainMessage,
  elementsMessage,
  nftRuleMessage,
  setMessage,
  tableMessage,
} from '../netfilter/messages.ts';
import { addressMessage } from '../route/address.ts';
import { bridgeLinkMessage } from '../route/bridge-vlan.ts';
import { linkMessage } from '../route/link-table.ts';
import { neighbourMessage } from '../route/neighbour.ts';
import { netconfMessage } from '../route/netconf.ts';
import { netnsidMessage } from '../route/netnsid.ts';
import { nexthopMessage } from '../route/nexthop.ts';
import { routeMessage } from '../route/route-table.ts';
import { ruleMessage } from '../route/rule.ts';
import { statsMessage } from '../route/stats.ts';
import { filterMessage } from '../tc/filter.ts';
import { classMessage, qdiscMessage } from '../tc/qdisc.ts';
import { messageValue } from './arbitrary.ts';
import type { Message } from './message.ts';
import { Reader, Writer } from './writer.ts';

const messages: Message<unknown, never>[] = [
  linkMessage,
  bridgeLinkMessage,
  addressMessage,
  routeMessage,
  ruleMessage,
  neighbourMessage,
  statsMessage,
  netnsidMessage,
  netconfMessage,
  nexthopMessage,
  qdiscMessage,
  classMessage,
  filterMessage,
  batchMessage,
  tableMessage,
  chainMessage,
  nftRuleMessage,
  setMessage,
  elementsMessage,
  controllerMessage,
  linkInfoMessage,
  linkModesMessage,
  linkStateMessage,
  featuresMessage,
  ringsMessage,
  channelsMessage,
  coalesceMessage,
  wireguardMessage,
  seg6Message,
];

const numRuns = Number(process.env['NETLINK_FUZZ_RUNS'] ?? 100);

function encode(message: Message<unknown, unknown>, value: unknown): Buffer {
  const w = new Writer(64);
  message.write(w, value);
  return Buffer.from(w.bytes.subarray(0, w.position));
}

/** Reads from the middle of a larger buffer of 0xff: a read outside the range shows in the result. */
function decode(message: Message<unknown, never>, bytes: Uint8Array): unknown {
  const around = Buffer.alloc(bytes.length + 512, 0xff);
  around.set(bytes, 256);
  return message.read(new Reader(around), 256, 256 + bytes.length);
}

describe.each(messages.map((message) => [message.name, message as Message<unknown, unknown>] as const))(
  '%s message',
  (_, message) => {
    const anyValue = messageValue(message);

    it('reads back what it wrote', { timeout: 600_000 }, () => {
      fc.assert(
        fc.property(anyValue, (value) => {
          expect(decode(message, encode(message, value))).toEqual(value);
        }),
        { numRuns },
      );
    });

    it('writes again what it read from damaged bytes, without looking outside them', { timeout: 600_000 }, () => {
      const damage = fc.array(fc.tuple(fc.nat(), fc.nat(0xff)), { maxLength: 8 });
      fc.assert(
        fc.property(anyValue, damage, fc.nat(), fc.nat(), (value, changes, cut, offset) => {
          const whole = encode(message, value);
          for (const [at, byte] of changes) whole[at % whole.length] = byte;
          const bytes = whole.subarray(0, cut % (whole.length + 1));
          const once = decode(message, bytes);
          const exact = new Reader(Uint8Array.from(bytes));
          expect(message.read(exact, 0, bytes.length)).toEqual(once);
          message.locate(exact, 0, bytes.length, offset % (bytes.length + 1));
          message.missing(exact, 0, bytes.length, offset % (bytes.length + 1), cut & 0xff);
        }),
        { numRuns },
      );
    });

    it('survives any bytes', { timeout: 600_000 }, () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
          expect(decode(message, bytes)).toEqual(message.read(new Reader(bytes), 0, bytes.length));
        }),
        { numRuns },
      );
    });

    it('keeps attributes that it does not know', () => {
      const unknown = [{ id: 0x3ff0, data: Uint8Array.of(1, 2, 3) }];
      expect(decode(message, encode(message, { unknown }))).toMatchObject({ unknown });
    });
  },
);
