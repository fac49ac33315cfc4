/** Calls of a registry's interface: with the credentials that it wants, and with its refusals as errors that say what it said. */
import { RegistryError } from '../errors.ts';
import type { Access } from './access.ts';
import { type Answer, type Exchange, readAll, type Wire } from './http.ts';

export interface Call extends Exchange {
  /** What it is for: a token is good for that and nothing else. */
  readonly purpose: string;
}

const errorBytes = 64 * 1024;
const redirects = new Set([301, 302, 303, 307, 308]);

export class Calls {
  readonly #wire: Wire;
  readonly #access: Access;
  readonly #base: URL;

  constructor(wire: Wire, access: Access, base: URL) {
    this.#wire = wire;
    this.#access = access;
    this.#base = base;
  }

  at(path: string): URL {
    return new URL(path, this.#base);
  }

  /** Returns the answer if its status is one of these; its body is read to the end where that is not wanted. */
  async expect(statuses: readonly number[], call: Call): Promise<Answer> {
    const answer = await this.answerTo(call);
    if (!statuses.includes(answer.status)) throw await refusal(call, answer);
    answer.body.resume();
    return answer;
  }

  /** As `expect`, with a body that fits into memory. */
  async read(call: Call, limitBytes: number): Promise<{ answer: Answer; bytes: Buffer }> {
    const answer = await this.open(call);
    return { answer, bytes: await readAll(answer, limitBytes) };
  }

  /** As `expect` 200, with a body that is to be read, wherever the registry keeps it. */
  async open(call: Call): Promise<Answer> {
    let { url } = call;
    for (let step = 0; step < 5; step++) {
      const answer = await this.answerTo({ ...call, url });
      if (answer.status === 200) return answer;
      if (!redirects.has(answer.status) || !answer.headers.location) throw await refusal(call, answer);
      answer.body.resume();
      const next = new URL(answer.headers.location, url);
      if (url.protocol === 'https:' && next.protocol !== 'https:') throw await refusal(call, answer);
      url = next;
    }
    throw new RegistryError('REDIRECTS', `${call.url.host} leads from one address to the next without end`);
  }

  /** Whatever the answer is, after credentials were shown where they are wanted. */
  async answerTo(call: Call): Promise<Answer> {
    const first = await this.#send(call);
    if (first.status !== 401) return first;
    first.body.resume();
    if (!(await this.#access.learn(first, call.purpose))) return first;
    return this.#send(call);
  }

  #send(call: Call): Promise<Answer> {
    const headers = { ...call.headers, ...this.#access.headersFor(call.url, call.purpose) };
    return this.#wire.send({ ...call, headers });
  }
}

async function refusal({ method, url }: Call, answer: Answer): Promise<RegistryError> {
  const { code, message } = await reasonIn(answer);
  const what = `${method} ${url.host}${url.pathname}`;
  const advice = answer.status === 401 || answer.status === 403 ? '; check the credentials' : '';
  return new RegistryError(code, `${message}${advice} (${answer.status}, ${what})`, { status: answer.status });
}

/** Registries say why in a JSON document, if they can. */
async function reasonIn(answer: Answer): Promise<{ code: string; message: string }> {
  const bytes = answer.body.readableEnded ? Buffer.alloc(0) : await readAll(answer, errorBytes).catch(() => undefined);
  try {
    const { errors } = JSON.parse(String(bytes)) as { errors?: { code?: string; message?: string }[] };
    const [first] = errors ?? [];
    if (first?.code) return { code: first.code, message: first.message || first.code };
  } catch {
    // Something between us and the registry may answer in its own way.
  }
  return { code: 'REGISTRY', message: `The registry answered ${answer.status}` };
}
