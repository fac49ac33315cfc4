/** The door to a namespace: its sockets, and the verbs of `ip(8)` on them. */
import { RouteFamilies, type Families } from './families.ts';
import { controller } from './generic/controller.ts';
import { ethtoolFamily, type Ethtool } from './generic/ethtool.ts';
import { seg6Family, type Seg6 } from './generic/seg6.ts';
import { wireguardFamily, type Wireguard } from './generic/wireguard.ts';
import { close as closeFd } from './libc.ts';
import { nftFamily, type Nft } from './netfilter/nft.ts';
import { inNetns, inOwnNetns, openNetns, type NetnsSource } from './netns.ts';
import { startCapture, type Capture, type CaptureSettings } from './packet/capture.ts';
import { batchChannel, directChannel, type Channel } from './route/channel.ts';
import { sysctlIn, type Sysctl } from './sysctl.ts';
import { tuntapIn, type Tuntap } from './tuntap.ts';
import { NetlinkError } from './wire/error.ts';
import { openSocket, Socket, type Protocol } from './wire/socket.ts';

export interface Netns extends Families, Disposable {
  /** Descriptor of the namespace; for `netns:` of a link that moves here. */
  readonly fd: number;
  /** How it was found. */
  readonly source: NetnsSource;
  readonly nft: Nft;
  readonly ethtool: Ethtool;
  readonly wireguard: Wireguard;
  /** `ip sr`. */
  readonly seg6: Seg6;
  readonly sysctl: Sysctl;
  readonly tuntap: Tuntap;
  /**
   * Collects changes and sends them together: one system call for many. The kernel carries out all of them in order, also after
   * one that failed; the first error is thrown. A question inside (`get`, `list`, a link by name) sends what waits first.
   */
  batch(work: (families: Families) => void): void;
  /** Calls back for each packet that passes the filter, until it is closed. The bytes are only good during the call. */
  capture(settings: CaptureSettings, onPacket: (bytes: Uint8Array) => void): Capture;
  /** Runs synchronous code inside: what it opens (sockets, files of /proc/sys/net) belongs to this namespace. */
  run<T>(work: () => T extends Promise<unknown> ? never : T): T;
  close(): void;
}

/** Opens a namespace; `open()` is the process's own. Close it, or bind it with `using`. */
export function open(source: NetnsSource = { own: true }): Netns {
  const fd = openNetns(source, netnsidOfFd);
  return new OpenNetns(new Sockets(fd, 'own' in source), source);
}

/** The descriptors that an open namespace holds. A closed one must not be used: its numbers may be somebody else's by then. */
class Sockets {
  readonly fd: number;
  readonly #made = new Map<Protocol, Socket>();
  readonly #isOwn: boolean;
  #closed = false;

  constructor(fd: number, isOwn: boolean) {
    this.fd = fd;
    this.#isOwn = isOwn;
  }

  of(protocol: Protocol): Socket {
    let found = this.#made.get(protocol);
    if (found === undefined) {
      found = new Socket(() => this.inside(() => openSocket(protocol)));
      this.#made.set(protocol, found);
    }
    return found;
  }

  inside<T>(work: () => T extends Promise<unknown> ? never : T): T {
    if (this.#closed) throw new NetlinkError('netns', 9, { kernelMessage: 'this namespace was closed' });
    return this.#isOwn ? inOwnNetns(work) : inNetns(this.fd, work);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const socket of this.#made.values()) socket.close();
    closeFd(this.fd);
  }
}

interface Made {
  nft?: Nft;
  generic?: ReturnType<typeof genericFamilies>;
  sysctl?: Sysctl;
  tuntap?: Tuntap;
}

class OpenNetns extends RouteFamilies implements Netns {
  readonly source: NetnsSource;
  readonly #sockets: Sockets;
  readonly #made: Made = {};

  constructor(sockets: Sockets, source: NetnsSource) {
    super(directChannel(sockets.of('route')));
    this.#sockets = sockets;
    this.source = source;
  }

  get fd(): number {
    return this.#sockets.fd;
  }

  get nft(): Nft {
    return (this.#made.nft ??= nftFamily(this.#sockets.of('netfilter')));
  }

  get ethtool(): Ethtool {
    return this.#generic.ethtool;
  }

  get wireguard(): Wireguard {
    return this.#generic.wireguard;
  }

  get seg6(): Seg6 {
    return this.#generic.seg6;
  }

  get sysctl(): Sysctl {
    return (this.#made.sysctl ??= sysctlIn((work) => this.run(work)));
  }

  get tuntap(): Tuntap {
    return (this.#made.tuntap ??= tuntapIn((work) => this.run(work)));
  }

  batch(work: (families: Families) => void): void {
    const channel = batchChannel(this.#sockets.of('route'));
    work(new RouteFamilies(channel));
    channel.flush();
  }

  capture(settings: CaptureSettings, onPacket: (bytes: Uint8Array) => void): Capture {
    return startCapture((work) => this.run(work), settings, onPacket);
  }

  run<T>(work: () => T extends Promise<unknown> ? never : T): T {
    return this.#sockets.inside(work);
  }

  close(): void {
    this.#sockets.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  get #generic() {
    return (this.#made.generic ??= genericFamilies(directChannel(this.#sockets.of('generic'))));
  }
}

/** Everything that goes over the generic socket: these share the numbers that the kernel gave the families. */
function genericFamilies(channel: Channel) {
  const family = controller(channel);
  return {
    ethtool: ethtoolFamily(channel, family),
    wireguard: wireguardFamily(channel, family),
    seg6: seg6Family(channel, family),
  };
}

function netnsidOfFd(fd: number): number | undefined {
  using own = open();
  return own.netnsid.get({ fd });
}
