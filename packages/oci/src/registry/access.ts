/**
 * Credentials, given to whom they are for. A registry says with its first refusal whether it wants them with each call (Basic), or a token
 * that another server gives for them (Bearer), for each scope its own.
 */
import { RegistryError } from '../errors.ts';
import { parseChallenge } from './headers.ts';
import { readAll, type Answer, type Wire } from './http.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

const tokenBytes = 64 * 1024;

export class Access {
  readonly #wire: Wire;
  readonly #origin: string;
  readonly #credentials: Credentials | undefined;
  /** Where it wants the password itself, it does so for all calls. */
  #basic: string | undefined;
  /** Tokens, by what a call is for. */
  readonly #tokens = new Map<string, string>();

  constructor(wire: Wire, origin: string, credentials: Credentials | undefined) {
    this.#wire = wire;
    this.#origin = origin;
    this.#credentials = credentials;
  }

  /** The header for a call, as far as known. Nothing for another server: to that one a registry may lead with a link of its own. */
  headersFor(url: URL, purpose: string): Record<string, string> {
    const authorization = url.origin === this.#origin ? (this.#tokens.get(purpose) ?? this.#basic) : undefined;
    return authorization === undefined ? {} : { authorization };
  }

  /** Learns from a refusal. Returns whether it makes sense to ask again. */
  async learn(refusal: Answer, purpose: string): Promise<boolean> {
    const challenge = parseChallenge(refusal.headers['www-authenticate'] ?? '');
    if (challenge?.scheme === 'basic' && this.#credentials) {
      const isNew = this.#basic === undefined;
      this.#basic = basic(this.#credentials);
      return isNew;
    }
    if (challenge?.scheme !== 'bearer') return false;
    this.#tokens.set(purpose, `Bearer ${await this.#token(challenge.parameters)}`);
    return true;
  }

  async #token({ realm = '', service, scope }: Readonly<Record<string, string>>): Promise<string> {
    const url = URL.canParse(realm) ? new URL(realm) : undefined;
    // A password over a line that anybody can read is none.
    if (!url || (url.protocol !== 'https:' && !this.#origin.startsWith('http:'))) {
      throw new RegistryError('TOKEN', `The registry wants tokens of "${realm}", which is no https address`);
    }
    if (service !== undefined) url.searchParams.set('service', service);
    if (scope !== undefined) url.searchParams.set('scope', scope);
    const headers = this.#credentials ? { authorization: basic(this.#credentials) } : {};
    const answer = await this.#wire.send({ method: 'GET', url, headers });
    const text = (await readAll(answer, tokenBytes)).toString();
    if (answer.status !== 200) {
      throw new RegistryError('TOKEN', `${url.host} gave no token: ${answer.status}`, { status: answer.status });
    }
    const { token, access_token } = JSON.parse(text) as { token?: string; access_token?: string };
    const given = token ?? access_token;
    if (!given) throw new RegistryError('TOKEN', `${url.host} answered without a token`);
    return given;
  }
}

function basic({ username, password }: Credentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}
