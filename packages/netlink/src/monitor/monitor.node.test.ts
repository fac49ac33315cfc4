/** Listening to real namespaces: what arrives, what is said about losses and ends, and that it stops. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { open, type Netns } from '../namespace.ts';
import { unpinNetns } from '../netns.ts';
import { tool } from '../testing/oracle.ts';
import { monitor, type Monitor, type MonitorEvent } from './monitor.ts';

type Seen = MonitorEvent<string>;

let events: Seen[];
let watching: Monitor<string>;
let opened: Netns[];
beforeEach(() => {
  events = [];
  opened = [];
  watching = monitor<string>((event) => events.push(event));
});
afterEach(async () => {
  await watching.close();
  for (const netns of opened) netns.close();
});

function fresh(): Netns {
  const netns = open({ create: true });
  opened.push(netns);
  return netns;
}

const seen = (match: object): Promise<void> =>
  vi.waitFor(() => expect(events).toContainEqual(expect.objectContaining(match)), { timeout: 120_000, interval: 5 });

describe('monitor', () => {
  it('tells which namespace something happened in', async () => {
    const [a, b] = [fresh(), fresh()];
    watching.add('a', a);
    watching.add('b', b);
    a.link.add({ kind: 'bridge', name: 'br0' });
    tool(b, 'ip link add br1 type bridge');
    b.address.add({ link: 'br1', address: '10.0.0.1/24' });
    b.link.delete('br1');
    await seen({ in: 'b', kind: 'link', change: 'delete', link: expect.objectContaining({ name: 'br1' }) as object });
    await seen({ in: 'a', kind: 'link', change: 'new', link: expect.objectContaining({ name: 'br0' }) as object });
    await seen({
      in: 'b',
      kind: 'address',
      change: 'new',
      address: expect.objectContaining({ prefix: '10.0.0.1/24' }) as object,
    });
    expect(events.some((event) => event.in === 'a' && event.kind === 'link' && event.link.name === 'br1')).toBe(false);
  });

  it('tells routes, neighbours and fdb entries when asked to', async () => {
    const ns = fresh();
    ns.link.add({ kind: 'bridge', name: 'br0', up: true });
    ns.link.add({ kind: 'veth', name: 'v0', up: true, peer: { name: 'v1' } });
    ns.address.add({ link: 'v0', address: '10.0.0.1/24' });
    watching.add('x', ns, ['link', 'route', 'neighbour']);
    ns.link.set('v1', { up: true, master: 'br0' });
    ns.route.add({ dst: '10.5.0.0/16', via: '10.0.0.2' });
    ns.neighbour.add({ link: 'v0', address: '10.0.0.9', lladdr: '02:00:00:00:00:09' });
    ns.fdb.add({ link: 'v1', lladdr: '02:00:00:00:00:0a', master: true, state: 'static' });
    ns.link.set('v1', { master: 0 });
    await seen({
      kind: 'route',
      change: 'new',
      route: expect.objectContaining({ dst: '10.5.0.0/16', via: '10.0.0.2' }) as object,
    });
    await seen({ kind: 'neighbour', neighbour: expect.objectContaining({ dst: '10.0.0.9' }) as object });
    await seen({ kind: 'fdb', neighbour: expect.objectContaining({ lladdr: '02:00:00:00:00:0a' }) as object });
    await seen({ kind: 'port', change: 'delete', port: expect.objectContaining({ name: 'v1' }) as object });
    expect(events.some((event) => event.kind === 'address')).toBe(false);
  });

  it('tells rules, nexthops, qdiscs and filters when asked to', async () => {
    const ns = fresh();
    ns.link.add({ kind: 'veth', name: 'v0', up: true, peer: { name: 'v1' } });
    ns.link.set('v1', { up: true });
    ns.address.add({ link: 'v0', address: '10.0.0.1/24' });
    watching.add('x', ns, ['rule', 'nexthop', 'tc']);
    tool(ns, 'ip rule add priority 77 from 10.9.0.0/16 table 9');
    tool(ns, 'ip nexthop add id 5 via 10.0.0.2 dev v0');
    tool(ns, 'tc qdisc add dev v0 clsact');
    tool(ns, 'tc qdisc del dev v0 clsact');
    await seen({ kind: 'rule', change: 'new', rule: expect.objectContaining({ priority: 77, table: 9 }) as object });
    await seen({
      kind: 'nexthop',
      change: 'new',
      nexthop: expect.objectContaining({ id: 5, via: '10.0.0.2' }) as object,
    });
    await seen({ kind: 'qdisc', change: 'new', qdisc: expect.objectContaining({ kind: 'clsact' }) as object });
    await seen({ kind: 'qdisc', change: 'delete' });
  });

  it('says overflow when events were lost, and goes on after it', async () => {
    const ns = fresh();
    await using small = monitor<string>((event) => events.push(event), { queueBytes: 2048 });
    small.add('x', ns);
    ns.batch((batch) => {
      for (let i = 0; i < 200; i++) batch.link.add({ kind: 'bridge', name: `br${i}`, group: 7 });
    });
    ns.link.deleteGroup(7);
    await seen({ kind: 'overflow', in: 'x' });
    events.length = 0;
    await vi.waitFor(
      () => {
        ns.link.set('lo', { up: !ns.link.get('lo').up });
        expect(events.some((event) => event.kind === 'link' && event.link.name === 'lo')).toBe(true);
      },
      { timeout: 120_000, interval: 20 },
    );
  });

  it('says gone when the process that named a namespace ends, and does not keep the namespace', async () => {
    const child = spawn('unshare', ['-n', 'sh', '-c', 'echo; read x'], { stdio: ['pipe', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    {
      using ns = open({ pid: child.pid! });
      watching.add('pod', ns);
    }
    child.stdin.end();
    await seen({ kind: 'gone', in: 'pod' });
    expect(watching.size).toBe(0);
  });

  it('says gone when the file that named a namespace is removed', async () => {
    const path = `/run/podloom-monitor-${process.pid}`;
    open({ create: true, pinned: path }).close();
    {
      using ns = open({ path });
      watching.add('pinned', ns);
    }
    expect(watching.size).toBe(1);
    unpinNetns(path);
    await seen({ kind: 'gone', in: 'pinned' });
  });

  it('is silent about what was removed, and refuses a name twice', async () => {
    const [a, b] = [fresh(), fresh()];
    watching.add('a', a);
    watching.add('b', b);
    expect(() => watching.add('a', b)).toThrow('already');
    watching.remove('a');
    a.link.add({ kind: 'bridge', name: 'br0' });
    b.link.add({ kind: 'bridge', name: 'br1' });
    await seen({ in: 'b' });
    expect(events.some((event) => event.in === 'a')).toBe(false);
  });

  it('does not believe a process of the namespace that speaks like the kernel', async () => {
    const ns = fresh();
    watching.add('x', ns);
    const script = [
      'import socket, struct',
      's = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)',
      's.bind((0, 0))',
      'name = b"forged\\0\\0"',
      'attr = struct.pack("=HH", 4 + 7, 3) + name',
      'body = struct.pack("=BxHiII", 0, 1, 99, 1, 0) + attr',
      's.sendto(struct.pack("=IHHII", 16 + len(body), 16, 0, 0, 0) + body, (0, 1))',
    ].join('\n');
    tool(ns, 'python3 -', script);
    ns.link.add({ kind: 'bridge', name: 'real' });
    await seen({ kind: 'link', link: expect.objectContaining({ name: 'real' }) as object });
    expect(
      JSON.stringify(events, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
    ).not.toContain('forged');
  });

  it('reports before it closes what happened before', async () => {
    const ns = fresh();
    watching.add('x', ns);
    ns.link.add({ kind: 'bridge', name: 'last' });
    await watching.close();
    expect(events.some((event) => event.kind === 'link' && event.link.name === 'last')).toBe(true);
  });

  it('leaves the threads that read files to others, however many monitors there are', async () => {
    await using many = new AsyncDisposableStack();
    for (let i = 0; i < 10; i++) many.use(monitor<string>(() => undefined)).add('x', fresh());
    expect(await readFile('/proc/self/comm', 'utf8')).not.toBe('');
  });

  it('goes on after a listener that throws, which is said as loudly as anywhere', async () => {
    const program = [
      `import { monitor, open } from ${JSON.stringify(join(import.meta.dirname, '../index.ts'))};`,
      // What waits beside an event whose listener throws is lost, so the second change comes after the first was heard.
      'process.on("uncaughtException", (error) => { console.log(error.message); if (heard === 1) setImmediate(() => ns.link.set("lo", { up: false })); });',
      'const ns = open({ create: true });',
      'let heard = 0;',
      'const watching = monitor(() => { heard += 1; if (heard === 2) void watching.close(); throw new Error(`heard ${heard}`); });',
      'watching.add("x", ns);',
      'ns.link.set("lo", { up: true });',
    ].join('\n');
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
    expect(stdout).toBe('heard 1\nheard 2\n');
  });

  it('leaves no descriptor behind where it cannot listen', async () => {
    type Child = ReturnType<typeof spawn> & { then?: never };
    const child = fresh().run(() => spawn('sleep', ['infinity'], { stdio: 'ignore' }) as Child);
    await once(child, 'spawn');
    using netns = open({ pid: child.pid! });
    const before = held();
    using _ = vi.spyOn(netns, 'run').mockImplementation(() => {
      throw new Error('no more sockets');
    });
    expect(() => watching.add('x', netns)).toThrow('no more sockets');
    expect(held()).toEqual(before);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });

  it('leaves no thread and no descriptor behind', async () => {
    await watching.close();
    const before = held();
    const ns = fresh();
    for (let i = 0; i < 3; i++) {
      const another = monitor<string>(() => undefined);
      for (let k = 0; k < 20; k++) another.add(`n${k}`, ns);
      await another.close();
    }
    await vi.waitFor(() => expect(held()).toEqual(before), { timeout: 120_000 });
  });
});

function held(): object {
  const threads = readdirSync('/proc/self/task').length;
  return { threads, sockets: descriptors().filter((target) => /^(socket|anon_inode)/.test(target)).length };
}

function descriptors(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return []; // the descriptor of the listing itself
    }
  });
}
