import { createServer } from 'node:net';
import { once } from 'node:events';
import { afterEach, expect, it, vi } from 'vitest';
import { reservePorts } from './ports.ts';

/** One after the other the ports that are looked at, from this one on. */
const lookFrom = (first: number) => {
  let port = first;
  vi.spyOn(Math, 'random').mockImplementation(() => (port++ - 20_000 + 0.5) / 12_000);
};

afterEach(() => vi.restoreAllMocks());

/** Three in a row that are free, for this process alone. */
async function threeFree(): Promise<number> {
  for (;;) {
    const first = 20_000 + Math.floor(Math.random() * 11_990);
    lookFrom(first);
    await using ports = await reservePorts(3);
    vi.restoreAllMocks();
    if (ports.numbers[2] === first + 2) return first;
  }
}

it('gives no port twice before it was given back, though nobody listens there', async () => {
  const first = await threeFree();
  lookFrom(first);
  await using one = await reservePorts(1);
  lookFrom(first);
  {
    await using other = await reservePorts(1);
    expect([...one.numbers, ...other.numbers]).toEqual([first, first + 1]);
  }
  lookFrom(first);
  await using next = await reservePorts(1);
  expect(next.numbers).toEqual([first + 1]);
});

it('gives no port on which someone listens', async () => {
  const first = await threeFree();
  const server = createServer().listen(first, '127.0.0.1');
  await once(server, 'listening');
  lookFrom(first);
  await using ports = await reservePorts(2);
  expect(ports.numbers).toEqual([first + 1, first + 2]);
  server.close();
});
