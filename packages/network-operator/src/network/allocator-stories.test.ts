/**
 * Addresses through any number of terms of leadership, in stories that fast-check tells: every call to the server is done, refused, or done without an
 * answer when the story says so, each term hears of everything in its own time and may end while any of its calls is on its way, and pods, PodNetworks and pools
 * come and go. The allocator and giving back are the real ones; what they are asked is what the reconciler of a pod asks them.
 */
import { type IPPool, type KubeObject, type PodNetwork, Conflict, Unavailable, podNetworkKind } from '@podloom/api';
import {
  type Cache,
  type Change,
  type Client,
  type ObjectKey,
  type Pod,
  keyOf,
  manualClock,
  objectKey,
  settle,
  silentLog,
} from '@podloom/kube';
import { type NetworkRange, type PoolRequest, coolDownMs } from '@podloom/network';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Allocator, allocator } from './allocator.ts';
import { rangeKey } from './caches.ts';
import { claimsOf, networksOf } from './claims.ts';
import type { NetworkContext } from './context.ts';
import { type Fresh, fresh } from './fresh.ts';
import { livingUid, releaseForGone, releaseUnneeded } from './release.ts';

const range: NetworkRange = { network: 'br', cidr: '10.0.0.0/25' };
const interfaceKey = 'PodConfig/c/pc0';
const names = ['a', 'b', 'c', 'd'];
const kinds = ['ippools', 'podnetworks', 'pods'] as const;
type Plural = (typeof kinds)[number];

type Action =
  | { readonly do: 'begin'; readonly behind: number }
  | { readonly do: 'end'; readonly term: number }
  | { readonly do: 'answer' | 'loseAnswer' | 'refuse' | 'drop'; readonly call: number }
  | { readonly do: 'tell'; readonly term: number; readonly what: Plural; readonly count: number }
  | { readonly do: 'look'; readonly term: number; readonly pod: string }
  | { readonly do: 'podComes' | 'podGoes' | 'networkIsLost'; readonly pod: string }
  | { readonly do: 'poolsAreLost' }
  | { readonly do: 'time'; readonly ms: number };

const anyPod = fc.constantFrom(...names);
const story: fc.Arbitrary<Action[]> = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.record({ do: fc.constant('begin' as const), behind: fc.nat(4) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), term: fc.nat(1) }) },
    { weight: 14, arbitrary: fc.record({ do: fc.constant('answer' as const), call: fc.nat(5) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom('loseAnswer' as const, 'refuse' as const, 'drop' as const),
        call: fc.nat(5),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('tell' as const),
        term: fc.nat(1),
        what: fc.constantFrom(...kinds),
        count: fc.integer({ min: 1, max: 4 }),
      }),
    },
    { weight: 10, arbitrary: fc.record({ do: fc.constant('look' as const), term: fc.nat(1), pod: anyPod }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('podComes' as const), pod: anyPod }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom('podGoes' as const, 'networkIsLost' as const), pod: anyPod }),
    },
    { weight: 2, arbitrary: fc.constant({ do: 'poolsAreLost' as const }) },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant('time' as const), ms: fc.constantFrom(1, 500, 2_000, 61_000, 130_000) }),
    },
  ),
  { minLength: 20, maxLength: 120 },
);

/** Something to fight over, from the start. */
const opening: readonly Action[] = [
  ...names.slice(0, 3).map((pod) => ({ do: 'podComes', pod }) as const),
  { do: 'begin', behind: 0 },
  ...names.slice(0, 3).map((pod) => ({ do: 'look', term: 0, pod }) as const),
];

const notFound = (): Error => new Unavailable('API_NOT_FOUND', 'There is none');
const stale = (): Error => new Unavailable('API_STALE', 'The object has changed');
const exists = (): Error => new Conflict('API_ALREADY_EXISTS', 'There is one already');
const ended = (): Error => new Unavailable('TEST', 'The term is over');

const pluralOf = (resource: { readonly plural: string }): Plural => resource.plural as Plural;

interface News {
  readonly key: ObjectKey;
  readonly now?: KubeObject;
}

/** What is stored, and everything that ever happened to it, in order. */
class Server {
  readonly stored = {
    ippools: new Map<ObjectKey, KubeObject>(),
    podnetworks: new Map<ObjectKey, KubeObject>(),
    pods: new Map<ObjectKey, KubeObject>(),
  };
  readonly history: Record<Plural, News[]> = { ippools: [], podnetworks: [], pods: [] };
  version = 0;

  put(plural: Plural, object: KubeObject): KubeObject {
    this.version += 1;
    const resourceVersion = String(this.version);
    const uid = object.metadata.uid ?? `${plural}-${this.version}`;
    const now = { ...object, metadata: { ...object.metadata, namespace: 'ns', uid, resourceVersion } };
    this.stored[plural].set(keyOf(now), now);
    this.history[plural].push({ key: keyOf(now), now });
    return now;
  }

  remove(plural: Plural, key: ObjectKey): void {
    if (this.stored[plural].delete(key)) this.history[plural].push({ key });
  }

  create(plural: Plural, object: KubeObject): KubeObject {
    if (this.stored[plural].has(objectKey(object.metadata.name ?? '', 'ns'))) throw exists();
    return this.put(plural, object);
  }

  update(plural: Plural, object: KubeObject, part: 'status' | 'rest'): KubeObject {
    const before = this.stored[plural].get(objectKey(object.metadata.name ?? '', 'ns')) as IPPool | undefined;
    if (!before) throw notFound();
    if (before.metadata.resourceVersion !== object.metadata.resourceVersion) throw stale();
    const { spec, status } = object as IPPool;
    return this.put(plural, { ...before, ...(part === 'status' ? status && { status } : { spec }) });
  }

  get(plural: Plural, name: string): KubeObject {
    const found = this.stored[plural].get(objectKey(name, 'ns'));
    if (!found) throw notFound();
    return found;
  }

  delete(plural: Plural, name: string, uid: string | undefined): undefined {
    if (this.get(plural, name).metadata.uid !== uid) throw stale();
    this.remove(plural, objectKey(name, 'ns'));
  }
}

/** The copy that one term has of one kind: a part of the history. */
class Copy {
  readonly objects = new Map<ObjectKey, KubeObject>();
  readonly listeners = new Set<(change: Change<KubeObject>) => void>();
  private readonly history: readonly News[];
  private heard = 0;

  constructor(history: readonly News[], behind: number) {
    this.history = history;
    this.tell(Math.max(0, history.length - behind));
  }

  tell(count: number): void {
    for (const { key, now } of this.history.slice(this.heard, this.heard + count)) {
      const old = this.objects.get(key);
      if (now) this.objects.set(key, now);
      else this.objects.delete(key);
      for (const listener of this.listeners) listener({ key, old, now });
    }
    this.heard = Math.min(this.history.length, this.heard + count);
  }

  as<T extends KubeObject>(): Cache<T, 'namespace' | 'range' | 'network'> {
    const { objects, listeners } = this;
    return {
      list: () => [...objects.values()],
      getByKey: (key: ObjectKey) => objects.get(key),
      by: (_: string, key: string) => [...objects.values()].filter((one) => keysOf(one).includes(key)),
      subscribe(listener: (change: Change<KubeObject>) => void) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    } as unknown as Cache<T, 'namespace' | 'range' | 'network'>;
  }
}

const isPool = (one: KubeObject): one is IPPool => (one as IPPool).spec.range !== undefined;

const keysOf = (one: KubeObject): string[] =>
  isPool(one) ? [rangeKey('ns', one.spec.network, one.spec.cidr), 'ns'] : networksOf(one as PodNetwork);

interface Term {
  readonly copies: Record<Plural, Copy>;
  readonly stop: AbortController;
  readonly addresses: Allocator;
  readonly networks: Fresh<PodNetwork>;
  readonly context: NetworkContext;
  readonly busy: Set<string>;
}

interface Call {
  readonly term: AbortSignal;
  readonly run: () => unknown;
  readonly settle: PromiseWithResolvers<unknown>;
}

class Story {
  readonly server = new Server();
  readonly clock = manualClock();
  readonly terms: Term[] = [];
  calls: Call[] = [];
  /** The term in which the pools were lost last. */
  bereft: Term | undefined;
  /** At the end of a story the server answers at once. */
  isPrompt = false;
  made = 0;
  seen = { written: 0, unanswered: 0, terms: 0, lost: 0 };

  private client(signal: AbortSignal): Client {
    const call = (run: () => unknown): Promise<unknown> => {
      if (signal.aborted) return Promise.reject(ended());
      if (this.isPrompt) return new Promise((resolve) => resolve(run()));
      const one = { term: signal, run, settle: Promise.withResolvers<unknown>() };
      signal.addEventListener('abort', () => one.settle.reject(ended()));
      this.calls.push(one);
      return one.settle.promise;
    };
    const { server } = this;
    return {
      create: (resource: never, object: KubeObject) => call(() => server.create(pluralOf(resource), object)),
      update: (resource: never, object: KubeObject, { subresource }: { subresource?: string } = {}) =>
        call(() => server.update(pluralOf(resource), object, subresource === 'status' ? 'status' : 'rest')),
      get: (resource: never, name: string) => call(() => server.get(pluralOf(resource), name)),
      delete: (resource: never, name: string, { uid }: { uid?: string } = {}) =>
        call(() => server.delete(pluralOf(resource), name, uid)),
    } as unknown as Client;
  }

  begin(behind: number): Term {
    const { clock, server } = this;
    const stop = new AbortController();
    const client = this.client(stop.signal);
    const copies = {
      ippools: new Copy(server.history.ippools, behind),
      podnetworks: new Copy(server.history.podnetworks, behind),
      pods: new Copy(server.history.pods, behind),
    };
    const pools = copies.ippools.as<IPPool>();
    const networks = fresh(copies.podnetworks.as<PodNetwork>());
    const addresses = allocator({
      client,
      pools,
      claims: claimsOf(copies.podnetworks.as<PodNetwork>(), networks),
      clock,
      log: silentLog,
      signal: stop.signal,
      lost: () => undefined,
    });
    // What the agent says of a node that is gone is waited for by nobody.
    const nodes = { get: () => undefined };
    const context = { client, allocator: addresses, caches: { nodes } } as unknown as NetworkContext;
    const term = { copies, stop, addresses, networks, context, busy: new Set<string>() };
    this.terms.push(term);
    this.seen.terms += 1;
    return term;
  }

  end(term: Term | undefined): void {
    if (!term) return;
    term.stop.abort();
    term.addresses.end();
    term.networks.end();
    this.terms.splice(this.terms.indexOf(term), 1);
    if (term === this.bereft) this.calls = this.calls.filter((call) => call.term !== term.stop.signal);
  }

  private termAt(number: number): Term | undefined {
    return this.terms[number % this.terms.length];
  }

  async act(action: Action): Promise<void> {
    switch (action.do) {
      case 'begin':
        // Who leads learns soon that another does; until then there are two.
        if (this.terms.length > 1 || this.terms.includes(this.bereft!)) this.end(this.terms[0]);
        // A leader begins with lists from the server. To be behind them is harmless only while pools stay, because no stale copy can write those.
        this.begin(this.bereft ? 0 : action.behind);
        break;
      case 'end':
        this.end(this.termAt(action.term));
        break;
      case 'tell':
        this.termAt(action.term)?.copies[action.what].tell(action.count);
        break;
      case 'look': {
        const term = this.termAt(action.term);
        // A pod is looked at because there is news of it, mostly.
        term?.copies.pods.tell(2);
        if (term) void this.look(term, action.pod);
        break;
      }
      case 'podComes':
        if (!this.server.stored.pods.has(objectKey(action.pod, 'ns'))) this.makePod(action.pod);
        break;
      case 'podGoes':
        this.server.remove('pods', objectKey(action.pod, 'ns'));
        break;
      case 'networkIsLost':
        this.server.remove('podnetworks', objectKey(action.pod, 'ns'));
        break;
      case 'poolsAreLost':
        // Only while one leads, and until the next does all that it has sent has come: nobody else can know what it was about to give out of a pool that is gone.
        if (this.terms.length !== 1 || this.calls.some(({ term }) => term.aborted)) break;
        this.bereft = this.terms[0];
        // By then it has heard of what was there when it began.
        this.bereft?.copies.podnetworks.tell(Infinity);
        for (const key of this.server.stored.ippools.keys()) this.server.remove('ippools', key);
        this.seen.lost += 1;
        break;
      case 'time':
        // By then a former leader has stopped, and what it had sent has come, or will not.
        if (action.ms >= 2_000) {
          for (const term of this.terms.slice(0, -1)) this.end(term);
          this.calls = this.calls.filter(({ term }) => !term.aborted);
        }
        // No request takes as long as an address cools down.
        for (const call of action.ms >= coolDownMs && this.bereft ? [...this.calls] : []) this.deliver('drop', call);
        await settle();
        await this.clock.advance(action.ms);
        break;
      case 'answer':
      case 'loseAnswer':
      case 'refuse':
      case 'drop':
        this.deliver(action.do, this.calls[action.call % this.calls.length]);
    }
    await settle();
  }

  private makePod(name: string): void {
    this.made += 1;
    const metadata = { name, uid: `uid-${name}-${this.made}` };
    this.server.put('pods', { apiVersion: 'v1', kind: 'Pod', metadata, status: { phase: 'Running' } });
  }

  private deliver(how: 'answer' | 'loseAnswer' | 'refuse' | 'drop', call: Call | undefined): void {
    if (!call) return;
    this.calls.splice(this.calls.indexOf(call), 1);
    const broken = new Unavailable('TEST', 'The connection broke');
    if (how === 'refuse' || how === 'drop') return call.settle.reject(broken);
    try {
      const answer = call.run();
      if (how === 'loseAnswer') this.seen.unanswered += 1;
      if (how === 'answer') call.settle.resolve(answer);
      else call.settle.reject(broken);
    } catch (error) {
      call.settle.reject(how === 'answer' ? error : broken);
    }
  }

  /** What the reconciler of a pod does with addresses; one look at a pod at a time, and whatever fails is for the next. */
  async look(term: Term, name: string): Promise<void> {
    if (term.busy.has(name)) return;
    term.busy.add(name);
    try {
      await this.serve(term, name);
    } catch (error) {
      if (!(error instanceof Unavailable) && !(error instanceof Conflict) && !term.stop.signal.aborted) throw error;
    } finally {
      term.busy.delete(name);
    }
  }

  private async serve({ copies, addresses, networks, context, stop: { signal } }: Term, name: string): Promise<void> {
    const key = objectKey(name, 'ns');
    const { client } = context;
    const pod = copies.pods.objects.get(key) as Pod | undefined;
    const podUid = pod?.metadata.uid;
    let network = networks.get(key);
    if (network && network.spec.podUid !== podUid) {
      const uid = await livingUid(key, context, signal);
      if (pod ? uid !== podUid : uid === network.spec.podUid) return;
      await client.delete(podNetworkKind.resource, name, { namespace: 'ns', uid: network.metadata.uid, signal });
      networks.deleted(network);
      network = undefined;
    }
    await releaseForGone(key, podUid, context, signal);
    if (!pod || podUid === undefined) return;

    const request = { podName: name, podUid, interfaceKey, nodeName: 'n1' };
    const has = network?.spec.interfaces[0]?.addresses[0];
    const given = await addressFor(has, request, addresses);
    if (given === undefined) return;
    const spec = specWith(podUid, given);
    if (network && given === has) {
      await releaseUnneeded(pod, network, { spec, waiting: new Map() }, context, signal);
    } else if (network) {
      networks.wrote(await client.update(podNetworkKind.resource, { ...network, spec }, { namespace: 'ns', signal }));
    } else {
      this.seen.written += 1;
      const draft = { metadata: { name, namespace: 'ns' }, spec };
      networks.wrote(await client.create(podNetworkKind.resource, draft, { namespace: 'ns', signal }));
    }
  }

  /** PodNetworks of pods that are there, by what they have. */
  living(): string[] {
    return [...this.server.stored.podnetworks].flatMap(([key, one]) => {
      const { spec } = one as PodNetwork;
      const isThere = this.server.stored.pods.get(key)?.metadata.uid === spec.podUid;
      return isThere
        ? spec.interfaces.flatMap(({ addresses }) => addresses.map((a) => `${spec.podUid} ${a.split('/')[0]}`))
        : [];
    });
  }

  recorded(): string[] {
    return [...this.server.stored.ippools.values()]
      .flatMap((one) => (one as IPPool).status?.allocations ?? [])
      .flatMap(({ podUid, address, releasedAt }) => (releasedAt === undefined ? `${podUid} ${address}` : []));
  }

  shared(): string[] {
    const addresses = this.living().map((one) => one.split(' ')[1] ?? '');
    return addresses.filter((one, i) => addresses.indexOf(one) !== i);
  }

  /** One more leader, a server that answers, and enough time. Returns what two had on the way. */
  async finish(): Promise<string[]> {
    const shared: string[] = [];
    while (this.terms.length > 0) this.end(this.terms[0]);
    this.calls = [];
    this.isPrompt = true;
    await settle();
    const last = this.begin(0);
    for (let round = 0; round < 6; round += 1) {
      for (const name of names) {
        await this.look(last, name);
        shared.push(...this.shared());
      }
      await this.clock.advance(coolDownMs);
      for (const copy of Object.values(last.copies)) copy.tell(Infinity);
    }
    this.end(last);
    return shared;
  }
}

/** What it has it keeps, unless it is another's. */
async function addressFor(
  has: string | undefined,
  request: PoolRequest,
  addresses: Allocator,
): Promise<string | undefined> {
  const address = has?.split('/')[0];
  if (address !== undefined && addresses.has('ns', range, { ...request, address })) return has;
  const kept =
    address === undefined ? undefined : await addresses.allocate('ns', range, { ...request, address, hasIt: true });
  const result = kept && 'address' in kept ? kept : await addresses.allocate('ns', range, request);
  return 'address' in result ? result.address : undefined;
}

const specWith = (podUid: string, address: string): PodNetwork['spec'] => ({
  podUid,
  nodeName: 'n1',
  interfaces: [
    {
      key: interfaceKey,
      namePrefix: 'pc0',
      link: { type: 'veth' },
      source: { apiVersion: 'v1', kind: 'PodConfig', name: 'c' },
      addresses: [address],
      bridge: { name: 'br', device: 'br', gateways: ['10.0.0.1/25'], home: 'node' },
      routes: [],
    },
  ],
});

describe('terms of leadership that end anywhere, over lines that fail in any way', () => {
  it('never give two living pods one address, and leave pools that have exactly what the living have', async () => {
    const seen = { written: 0, unanswered: 0, terms: 0, lost: 0 };
    await fc.assert(
      fc.asyncProperty(story, async (actions) => {
        const told = new Story();
        for (const action of [...opening, ...actions]) {
          await told.act(action);
          expect(told.shared()).toEqual([]);
        }
        for (const what of ['written', 'unanswered', 'terms', 'lost'] as const) seen[what] += told.seen[what];
        expect(await told.finish()).toEqual([]);
        expect(told.living()).toHaveLength(told.server.stored.pods.size);
        expect(told.recorded().toSorted()).toEqual(told.living().toSorted());
        expect(told.clock.pending).toBe(0);
      }),
      { numRuns: 1000 },
    );
    expect(seen.written).toBeGreaterThan(1000);
    expect(seen.unanswered).toBeGreaterThan(200);
    expect(seen.terms).toBeGreaterThan(1000);
    expect(seen.lost).toBeGreaterThan(200);
  });
});
