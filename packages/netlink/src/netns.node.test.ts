/** Namespaces: found in every way, entered and left, and their settings. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { open, type Netns } from './namespace.ts';
import { unpinNetns } from './netns.ts';
import { tool } from './testing/oracle.ts';

const own = (): string => readlinkSync('/proc/thread-self/ns/net');
const marked = (netns: Netns, name: string): boolean => netns.link.list().some((link) => link.name === name);

const fail = (): never => {
  throw new Error('in there');
};

describe('open', () => {
  it('finds a namespace by process', async () => {
    const child = spawn('unshare', ['-n', 'sh', '-c', 'ip link add marked type bridge; echo; read x'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    await once(child.stdout, 'data');
    using netns = open({ pid: child.pid! });
    expect(marked(netns, 'marked')).toBe(true);
    const ended = once(child, 'exit');
    child.stdin.end();
    await ended;
    expect(marked(netns, 'marked')).toBe(true);
  });

  it('needs no right to be in the own namespace', async () => {
    const script = `import { open } from '${fileURLToPath(new URL('namespace.ts', import.meta.url))}';
      console.log(open().link.list().map(({ name }) => name).includes('lo'));`;
    const node = [process.execPath, '--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script];
    const unprivileged = ['--inh-caps=-all', '--bounding-set=-all'];
    const child = spawn('setpriv', [...unprivileged, ...node], { stdio: ['ignore', 'pipe', 'inherit'] });
    expect((await child.stdout.toArray()).join('')).toBe('true\n');
  });

  it('pins a new namespace to a file, finds it by path, and lets it go', () => {
    const path = `/run/podloom-netns-${process.pid}`;
    {
      using made = open({ create: true, pinned: path });
      made.link.add({ kind: 'bridge', name: 'marked' });
    }
    {
      using found = open({ path });
      expect(marked(found, 'marked')).toBe(true);
    }
    expect(() => open({ create: true, pinned: path })).toThrow('EEXIST');
    unpinNetns(path);
    expect(existsSync(path)).toBe(false);
  });

  it('finds a namespace by the number that the own one has for it', () => {
    const path = `/run/netns/podloom-netnsid-${process.pid}`;
    mkdirSync('/run/netns', { recursive: true });
    using made = open({ create: true, pinned: path });
    try {
      made.link.add({ kind: 'bridge', name: 'marked' });
      using mine = open();
      mine.netnsid.set(made, -1);
      const netnsid = mine.netnsid.get(made);
      expect(netnsid).toBeGreaterThanOrEqual(0);
      using found = open({ netnsid: netnsid! });
      expect(marked(found, 'marked')).toBe(true);
    } finally {
      unpinNetns(path);
    }
    expect(() => open({ netnsid: 0x7fff_0000 })).toThrow('ENOENT');
  });

  it('opens the own namespace', () => {
    using mine = open();
    expect(mine.run<string>(own)).toBe(own());
  });
});

describe('close', () => {
  it('can be said twice, and ends every use', () => {
    const netns = open({ create: true });
    netns.link.list();
    netns.close();
    netns.close();
    expect(() => netns.link.list()).toThrow('this namespace was closed');
    expect(() => netns.run(own)).toThrow('EBADF');
  });
});

describe('run', () => {
  it('is inside for the time of the work, also when that fails', () => {
    using netns = open({ create: true });
    const outside = own();
    expect(netns.run<string>(own)).not.toBe(outside);
    expect(own()).toBe(outside);
    expect(() => netns.run(fail)).toThrow('in there');
    expect(own()).toBe(outside);
  });

  it('ends the process that cannot come back', async () => {
    const child = spawn(process.execPath, [fileURLToPath(new URL('./testing/stranded.ts', import.meta.url))]);
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk) => (out += String(chunk)));
    child.stderr.on('data', (chunk) => (err += String(chunk)));
    const [, signal] = (await once(child, 'close')) as [number | null, string | null];
    expect(signal).toBe('SIGABRT');
    expect(out).toBe('');
    expect(err).toContain('Cannot return to the own network namespace');
  });

  it('does not go from one namespace into another', () => {
    using a = open({ create: true });
    using b = open({ create: true });
    expect(() => a.run<number>(() => b.link.list().length)).toThrow('EBUSY');
    expect(b.link.list()[0]?.name).toBe('lo');
  });
});

describe('sysctl', () => {
  it('belongs to the namespace, in both directions', () => {
    using a = open({ create: true });
    using b = open({ create: true });
    a.link.add({ kind: 'bridge', name: 'with.dot' });
    const before = b.sysctl.get('net/ipv4/ip_forward');
    a.sysctl.set('net/ipv4/ip_forward', before === '1' ? 0 : 1);
    expect(b.sysctl.get('ipv4/ip_forward')).toBe(before);
    expect(tool(a, 'cat /proc/sys/net/ipv4/ip_forward').trim()).toBe(a.sysctl.get('ipv4/ip_forward'));
    tool(b, 'sysctl -q -w net.ipv6.conf.all.forwarding=1');
    expect(b.sysctl.get('ipv6/conf/all/forwarding')).toBe('1');
    a.sysctl.set('ipv4/conf/with.dot/proxy_arp', 1);
    expect(a.sysctl.get('ipv4/conf/with.dot/proxy_arp')).toBe('1');
  });

  it('stays below net, and says what is not there', () => {
    using netns = open({ create: true });
    expect(() => netns.sysctl.get('ipv4/../../kernel/hostname')).toThrow('EINVAL');
    expect(() => netns.sysctl.get('ipv4/conf/nothing/forwarding')).toThrow('ENOENT');
    expect(() => netns.sysctl.set('ipv4/ip_forward', 'nonsense')).toThrow('EINVAL');
  });
});
