/** One HTTPS request, with a client certificate or without: enough to ask whether etcd and the API server are ready. */
import { request } from 'node:https';
import { Unavailable } from '@podloom/api';

/** Who is believed, and who we are: one who shows no certificate is nobody. */
export interface Identity {
  ca: string;
  cert?: string;
  key?: string;
}

export interface Answer {
  status: number;
  body: string;
}

export async function httpsRequest(url: string, identity: Identity, post?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const fail = (cause: Error) => reject(new Unavailable('HTTPS', `${url}: ${cause.message}`, { cause }));
    const sent = request(
      url,
      { ...identity, method: post === undefined ? 'GET' : 'POST', agent: false, timeout: 5_000 },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', fail);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
      },
    );
    sent.on('error', fail);
    sent.on('timeout', () => sent.destroy(new Error('no answer within 5 s')));
    sent.end(post === undefined ? undefined : JSON.stringify(post));
  });
}

/** Whether a health endpoint answers 200. A refused connection is an answer: not yet. */
export async function isHealthy(url: string, identity: Identity): Promise<boolean> {
  return isAnswered(url, identity, 200);
}

/** As `isHealthy`, where another answer says that all is well. */
export async function isAnswered(url: string, identity: Identity, status: number): Promise<boolean> {
  try {
    return (await httpsRequest(url, identity)).status === status;
  } catch (error) {
    if (error instanceof Unavailable) return false;
    throw error;
  }
}
