/** `ip sr`: the source address of SRv6 tunnels, and the keys that sign segment lists. */
import { message } from '../codec/message.ts';
import { attr, table } from '../codec/table.ts';
import { bytes, choice, i32, ip6, u32, u8 } from '../codec/type.ts';
import type { Channel } from '../route/channel.ts';
import { request } from '../wire/request.ts';
import { genericHeader, type GenericFamily } from './controller.ts';

const algorithms = { sha1: 1, sha256: 2 } as const;

export const seg6Message = message(
  'seg6',
  genericHeader,
  table('seg6', {
    address: attr(1, ip6),
    prefixLength: attr(2, i32),
    keyId: attr(3, u32),
    secret: attr(4, bytes),
    secretLength: attr(5, u8),
    algorithm: attr(6, choice(u8, algorithms)),
    info: attr(7, bytes),
  }),
);

const SET_HMAC = 1;
const DUMP_HMAC = 2;
const SET_TUNNEL_SOURCE = 3;
const GET_TUNNEL_SOURCE = 4;

export interface Seg6Hmac {
  readonly keyId: number;
  readonly algorithm: keyof typeof algorithms | number;
  /** At most 64 bytes. */
  readonly secret: Uint8Array;
}

export function seg6Family(channel: Channel, family: (name: string) => GenericFamily) {
  const run = (verb: string, command: number, body: object): void => {
    const { id, version } = family('SEG6');
    channel.run(request(`seg6.${verb}`, id, 0, seg6Message, { ...body, command, version }));
  };
  return {
    /** Where encapsulated packets come from; `::` lets the kernel choose. */
    tunnelSource(): string {
      const { id, version } = family('SEG6');
      const question = { command: GET_TUNNEL_SOURCE, version };
      return channel.get(request('seg6.tunnelSource', id, 0, seg6Message, question), seg6Message).address ?? '::';
    },
    setTunnelSource: (address: string): void => run('setTunnelSource', SET_TUNNEL_SOURCE, { address }),
    /** Makes the key, or replaces the one of that number. */
    setHmac({ keyId, algorithm, secret }: Seg6Hmac): void {
      if (secret.length === 0 || secret.length > 64) throw new RangeError('A secret has 1 to 64 bytes');
      run('setHmac', SET_HMAC, { keyId, algorithm, secretLength: secret.length, secret });
    },
    deleteHmac: (keyId: number): void => run('deleteHmac', SET_HMAC, { keyId, algorithm: 0, secretLength: 0 }),
    /** Secrets come only if asked for. */
    hmacs(options: { readonly secrets?: boolean } = {}): (Omit<Seg6Hmac, 'secret'> & { secret?: Uint8Array })[] {
      const { id, version } = family('SEG6');
      const question = { command: DUMP_HMAC, version };
      return channel.dump(request('seg6.hmacs', id, 0, seg6Message, question), seg6Message).map((seen) => {
        const { keyId = 0, algorithm = 0, secret } = seen;
        return options.secrets === true && secret !== undefined ? { keyId, algorithm, secret } : { keyId, algorithm };
      });
    },
  };
}
export type Seg6 = ReturnType<typeof seg6Family>;
