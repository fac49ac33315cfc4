/** The channel protocol against a server of our own; a real kubelet answers in test/kube/exec.cluster.test.ts. */
import { createServer } from 'node:https';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { settle } from '../clock/manual.ts';
import type { CredentialSource } from '../kubeconfig/cluster.ts';
import { createClient } from './create-client.ts';
import { isForbidden } from './errors.ts';
import { clientFor, configFor, fact, failureOf, listen, serverCertificate, status } from './testing/server.ts';

const success = { status: 'Success' };
const exited = (code: number) => ({
  ...status(500, 'NonZeroExitCode'),
  details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
});

async function startExec(talk: (ws: WebSocket, url: URL) => void, protocol = 'v5.channel.k8s.io') {
  const server = createServer(serverCertificate);
  const sockets = new WebSocketServer({ server, handleProtocols: (offered) => offered.has(protocol) && protocol });
  sockets.on('connection', (ws, request) => talk(ws, new URL(request.url ?? '', 'https://x')));
  onTestFinished(() => {
    sockets.clients.forEach((ws) => ws.terminate());
    server.close();
  });
  return clientFor(await listen(server));
}

const send = (ws: WebSocket, channel: number, data: string | Uint8Array) =>
  ws.send(Buffer.concat([Buffer.of(channel), Buffer.from(data)]));

function finish(ws: WebSocket, outcome: object): void {
  send(ws, 3, JSON.stringify(outcome));
  ws.close();
}

describe('exec', () => {
  it.each(['v5.channel.k8s.io', 'v4.channel.k8s.io'])(
    'collects both outputs and the exit code over %s',
    async (protocol) => {
      const client = await startExec((ws, url) => {
        const arrow = Buffer.from('→');
        send(ws, 1, url.searchParams.getAll('command').join('|'));
        send(ws, 1, arrow.subarray(0, 1));
        send(ws, 2, `container=${url.searchParams.get('container')}`);
        send(ws, 1, arrow.subarray(1));
        finish(ws, exited(3));
      }, protocol);
      const result = await client.exec('p', { command: ['sh', '-c', 'a b'], container: 'main' });
      expect(result).toEqual({ stdout: 'sh|-c|a b→', stderr: 'container=main', exitCode: 3 });
    },
  );

  it('sends the input and then its end', async () => {
    const client = await startExec((ws) => {
      let input = '';
      ws.on('message', (data: Buffer) => {
        if (data[0] === 0) input += data.subarray(1).toString();
        if (data.equals(Buffer.of(255, 0))) {
          send(ws, 1, input.toUpperCase());
          finish(ws, success);
        }
      });
    });
    expect(await client.exec('p', { command: ['tr'], stdin: 'hello' })).toEqual({
      stdout: 'HELLO',
      stderr: '',
      exitCode: 0,
    });
  });

  it('does not take a cut connection for success', async () => {
    const client = await startExec((ws) => {
      send(ws, 1, 'half');
      ws.terminate();
    });
    await expect(client.exec('p', { command: ['x'] })).rejects.toThrow('the connection ended before the command did');
  });

  it('translates what the server says instead of an exit code', async () => {
    const client = await startExec((ws) => finish(ws, { ...status(500, 'InternalError', 'no such container') }));
    await expect(client.exec('p', { command: ['x'] })).rejects.toThrow('no such container');
  });

  it('translates a refused upgrade', async () => {
    const server = createServer(serverCertificate, (_request, response) => response.end());
    server.on('upgrade', (_request, socket) => {
      const body = JSON.stringify(status(403, 'Forbidden', 'pods "p" is forbidden'));
      socket.end(`HTTP/1.1 403 Forbidden\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
    });
    onTestFinished(() => void server.close());
    const failure = await failureOf(clientFor(await listen(server)).exec('p', { command: ['x'] }));
    expect(isForbidden(failure)).toBe(true);
  });

  it('renews a refused token once', async () => {
    const server = createServer(serverCertificate);
    const sockets = new WebSocketServer({ noServer: true });
    server.on('upgrade', (request, socket, head) => {
      if (request.headers.authorization === 'Bearer new') {
        sockets.handleUpgrade(request, socket, head, (ws) => finish(ws, success));
      } else socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
    });
    onTestFinished(() => void server.close());
    let token = 'old';
    const credentials: CredentialSource = {
      get: async () => ({ authorization: `Bearer ${token}` }),
      renew: () => {
        token = 'new';
        return true;
      },
    };
    const client = clientFor(await listen(server), { credentials });
    expect((await client.exec('p', { command: ['x'] })).exitCode).toBe(0);
  });

  it('stops when the caller aborts, with the caller’s reason', async () => {
    const stop = new AbortController();
    const client = await startExec(() => stop.abort(new Error('enough')));
    await expect(client.exec('p', { command: ['x'], signal: stop.signal })).rejects.toThrow('enough');
  });

  it('that is aborted while it waits for a connection is over at once, and runs nothing', async () => {
    const server = createServer(serverCertificate);
    const closed = fact();
    const asked: unknown[] = [];
    server.on('connection', (socket) => socket.on('close', () => closed.happen()));
    server.on('upgrade', (request) => asked.push(request.url));
    onTestFinished(() => void server.close());
    const config = configFor(await listen(server));
    const open = fact();
    const client = createClient({ ...config, tls: () => open.seen.then(config.tls) });
    const stop = new AbortController();
    const failures: unknown[] = [];
    client.exec('p', { command: ['x'], signal: stop.signal }).catch((error: unknown) => failures.push(error));
    await settle();
    stop.abort(new Error('enough'));
    await settle();
    expect(failures).toMatchObject([{ message: 'enough' }]);
    open.happen();
    await closed.seen;
    expect(asked).toEqual([]);
  });

  it('refuses an empty command', async () => {
    await expect(clientFor(1).exec('p', { command: [] })).rejects.toThrow('the command to run is empty');
  });
});
