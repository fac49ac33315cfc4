/**
 * The filter at a pod's port: lets out only what the pod was given. It runs on frames that arrive at the node end, as classic BPF
 * in direct action at the clsact ingress, and ends in drop. It also keeps tenants apart: a frame for the node (to the gateway's
 * MAC, or to a group) may only be meant for the gateway's own address, so the node is never asked to route.
 *
 * A load behind the end of a frame would end the program with 0, which means "accept": every part asks for the length first. (Ports
 * of UDP may lie behind the end: a receiver takes no such packet either.)
 */
import { type IpAddress, parseIp } from '@podloom/api';
import type { Instruction } from '../step.ts';
import { Assembler } from './assembler.ts';

export interface PortFilterInput {
  /** MAC of the pod. */
  readonly mac: string;
  /** All addresses that the pod may send from, without prefix length, its fe80:: included. */
  readonly addresses: readonly string[];
  readonly gatewayMac: string;
  /** Addresses of the bridge that the pod may send to. */
  readonly gateways: readonly string[];
  /** Subnet broadcast addresses, besides 255.255.255.255. */
  readonly broadcasts?: readonly string[] | undefined;
}

const drop = 2;
const pass = 0xffffffff;
const vlanTagPresent = 0xfffff000 + 48;

const at = {
  destination: 0,
  source: 6,
  type: 12,
  ip4: { header: 14, fragment: 20, protocol: 23, source: 26, destination: 30 },
  arp: { form: 14, lengths: 18, senderMac: 22, sender: 28 },
  ip6: { next: 20, source: 22, destination: 38, payload: 54, icmpTarget: 62 },
} as const;

const udp = 17;
const icmp6 = 58;
const icmp6Type = { routerAdvertisement: 134, neighbourSolicitation: 135, neighbourAdvertisement: 136, redirect: 137 };
const mldTypes = [130, 131, 132, 143];
/** Headers that may hide another header. Encapsulating security (50) hides nothing that a receiver would take for ours. */
const extensionHeaders = [0, 43, 44, 51, 60, 135, 139, 140];

/** An address in words of 32 bits. */
type Words = readonly number[];

export function portFilter(input: PortFilterInput): Instruction[] {
  const addresses = input.addresses.map(parseIp);
  const gateways = input.gateways.map(parseIp);
  const [mac, gatewayMac] = [macWords(input.mac), macWords(input.gatewayMac)];
  const [own4, own6] = [wordsOf(4, addresses), wordsOf(6, addresses)];
  const [gateways4, gateways6] = [wordsOf(4, gateways), wordsOf(6, gateways)];
  const broadcasts = (input.broadcasts ?? []).map((text) => Number(parseIp(text).value));
  const asm = new Assembler();
  const write = new Writer(asm);

  asm.op('ldWord', vlanTagPresent);
  write.require('ifEqual', 0);
  write.requireMac(at.source, mac);

  write.section(0x0800, () => {
    write.requireLength(34);
    write.requireOneOf(at.ip4.source, own4);
    write.destinationRule(gatewayMac, at.ip4.destination, gateways4, () => {
      asm.op('ldWord', at.ip4.destination);
      const fine = asm.newLabel();
      for (const one of [0xffffffff, ...broadcasts]) write.gotoIf('ifEqual', one, fine);
      asm.op('and', 0xf0000000);
      write.require('ifEqual', 0xe0000000);
      asm.label(fine);
    });
    asm.op('ldByte', at.ip4.protocol);
    write.passUnless('ifEqual', udp);
    asm.op('ldHalf', at.ip4.fragment);
    write.passIf('ifAnyBit', 0x1fff);
    asm.op('ldxIpv4Header', at.ip4.header).op('ldHalfAtX', at.ip4.header);
    write.dropIf('ifEqual', 67);
    asm.op('return', pass);
  });

  write.section(0x0806, () => {
    write.requireLength(42);
    asm.op('ldWord', at.arp.form);
    write.require('ifEqual', 0x00010800);
    asm.op('ldHalf', at.arp.lengths);
    write.require('ifEqual', 0x0604);
    write.requireMac(at.arp.senderMac, mac);
    write.requireOneOf(at.arp.sender, [...own4, [0]]);
    asm.op('return', pass);
  });

  write.section(0x86dd, () => {
    const unspecified = asm.newLabel();
    const known = asm.newLabel();
    const [upper, hopByHop, extension] = [asm.newLabel(), asm.newLabel(), asm.newLabel()];
    write.requireLength(54);
    for (const address of own6) write.gotoIfAddress(at.ip6.source, address, known);
    write.gotoIfAddress(at.ip6.source, [0, 0, 0, 0], unspecified);
    asm.op('return', drop);

    // An address that is being tested for duplicates has no source yet, and asks for itself only.
    asm.label(unspecified).op('ldByte', at.ip6.next);
    write.require('ifEqual', icmp6);
    write.requireLength(78);
    asm.op('ldByte', at.ip6.payload);
    write.require('ifEqual', icmp6Type.neighbourSolicitation);

    asm.label(known);
    write.destinationRule(gatewayMac, at.ip6.destination, gateways6, () => {
      asm.op('ldByte', at.ip6.destination);
      write.require('ifEqual', 0xff);
    });
    asm.op('ldByte', at.ip6.next);
    write.gotoIf('ifEqual', icmp6, upper);
    for (const header of extensionHeaders) write.gotoIf('ifEqual', header, header === 0 ? hopByHop : extension);
    write.passUnless('ifEqual', udp);
    asm.op('ldHalf', at.ip6.payload);
    write.dropIf('ifEqual', 547);
    asm.op('return', pass);

    asm.label(extension);
    write.behindExtension();
    write.dropIf('ifEqual', icmp6);
    asm.op('return', pass);

    // MLD always travels behind hop-by-hop; nothing else of ICMPv6 needs to.
    asm.label(hopByHop);
    write.behindExtension();
    write.passUnless('ifEqual', icmp6);
    asm
      .op('ldByte', at.ip6.payload + 1)
      .op('add', 1)
      .op('shiftLeft', 3)
      .op('add', at.ip6.payload)
      .op('toX');
    asm.op('ldLength');
    write.require('ifGreaterThanX', 0);
    asm.op('ldByteAtX', 0);
    for (const type of mldTypes) write.passIf('ifEqual', type);
    asm.op('return', drop);

    asm.label(upper);
    write.requireLength(58);
    asm.op('ldByte', at.ip6.payload);
    write.dropIf('ifEqual', icmp6Type.routerAdvertisement);
    write.dropIf('ifEqual', icmp6Type.redirect);
    write.passUnless('ifEqual', icmp6Type.neighbourAdvertisement);
    write.requireLength(78);
    write.requireOneOf(at.ip6.icmpTarget, own6);
    asm.op('return', pass);
  });

  asm.op('return', drop);
  return asm.assemble();
}

/** Those of the family. */
const wordsOf = (family: 4 | 6, addresses: readonly IpAddress[]): Words[] =>
  addresses
    .filter((address) => address.family === family)
    .map(({ value }) =>
      (family === 4 ? [0n] : [96n, 64n, 32n, 0n]).map((shift) => Number((value >> shift) & 0xffffffffn)),
    );

type Test = Parameters<Assembler['jump']>[0];

/** Phrases that the parts of the program share. Each leaves the accumulator as its last load made it. */
class Writer {
  readonly #asm: Assembler;
  constructor(asm: Assembler) {
    this.#asm = asm;
  }

  #unless(test: Test, k: number, then: () => void): void {
    const over = this.#asm.newLabel();
    this.#asm.jump(test, k, over);
    then();
    this.#asm.label(over);
  }

  #if(test: Test, k: number, then: () => void): void {
    const over = this.#asm.newLabel();
    this.#asm.jump(test, k, undefined, over);
    then();
    this.#asm.label(over);
  }

  require = (test: Test, k: number): void => this.#unless(test, k, () => this.#asm.op('return', drop));
  dropIf = (test: Test, k: number): void => this.#if(test, k, () => this.#asm.op('return', drop));
  passIf = (test: Test, k: number): void => this.#if(test, k, () => this.#asm.op('return', pass));
  passUnless = (test: Test, k: number): void => this.#unless(test, k, () => this.#asm.op('return', pass));
  gotoIf = (test: Test, k: number, label: string): void => this.#if(test, k, () => this.#asm.goto(label));

  requireLength(bytes: number): void {
    this.#asm.op('ldLength');
    this.require('ifGreaterOrEqual', bytes);
  }

  requireMac(offset: number, [high = 0, low = 0]: Words): void {
    this.#asm.op('ldWord', offset);
    this.require('ifEqual', high);
    this.#asm.op('ldHalf', offset + 4);
    this.require('ifEqual', low);
  }

  section(etherType: number, body: () => void): void {
    const after = this.#asm.newLabel();
    this.#asm.op('ldHalf', at.type);
    this.#unless('ifEqual', etherType, () => this.#asm.goto(after));
    body();
    this.#asm.label(after);
  }

  /** Jumps where the address at this offset is the given one. */
  gotoIfAddress(offset: number, words: Words, label: string): void {
    const other = this.#asm.newLabel();
    words.forEach((word, i) => {
      this.#asm.op('ldWord', offset + 4 * i);
      this.#asm.jump('ifEqual', word, undefined, other);
    });
    this.#asm.goto(label).label(other);
  }

  requireOneOf(offset: number, addresses: readonly Words[]): void {
    const found = this.#asm.newLabel();
    for (const address of addresses) this.gotoIfAddress(offset, address, found);
    this.#asm.op('return', drop).label(found);
  }

  /** To the gateway's MAC only the gateway's addresses, to a group only what `groupAddress` lets through, else anything. */
  destinationRule(gatewayMac: Words, offset: number, gateways: readonly Words[], groupAddress: () => void): void {
    const asm = this.#asm;
    const [fine, toGateway, toOther, other] = [asm.newLabel(), asm.newLabel(), asm.newLabel(), asm.newLabel()];
    const [high = 0, low = 0] = gatewayMac;
    asm.op('ldWord', at.destination).jump('ifEqual', high, undefined, toOther);
    asm.op('ldHalf', at.destination + 4).jump('ifEqual', low, toGateway, toOther);
    asm.label(toOther).goto(other).label(toGateway);
    for (const gateway of gateways) this.gotoIfAddress(offset, gateway, fine);
    asm.op('return', drop).label(other);
    asm.op('ldByte', at.destination);
    this.#unless('ifAnyBit', 1, () => asm.goto(fine));
    groupAddress();
    asm.label(fine);
  }

  /** Loads what a first extension header leads to, which may not be a second one. */
  behindExtension(): void {
    this.requireLength(at.ip6.payload + 8);
    this.#asm.op('ldByte', at.ip6.payload);
    for (const second of extensionHeaders) this.dropIf('ifEqual', second);
  }
}

function macWords(mac: string): [high: number, low: number] {
  const value = BigInt(`0x${mac.replaceAll(':', '')}`);
  return [Number(value >> 16n), Number(value & 0xffffn)];
}
