/**
 * Ends a connection that the server is leaving (GOAWAY) once something waits for that. undici gives a call that the server did not take
 * back to the same client, which opens no new connection while anything runs over the old one; and a watch runs for minutes.
 *
 * Where nothing waits, what runs may end in peace: a watch that is cut begins again, but nobody knows what became of a write.
 */
import type { Socket } from 'node:net';
import type { Client } from './undici.ts';

export function endWhenInTheWay(client: Client, socket: Socket, patienceMs: number): void {
  client.once('disconnect', () => {
    if (socket.destroyed) return;
    const timer = setInterval(() => {
      if (client.stats.pending > 0) socket.destroy(new Error('the server is leaving this connection'));
    }, patienceMs).unref();
    socket.once('close', () => clearInterval(timer));
  });
}
