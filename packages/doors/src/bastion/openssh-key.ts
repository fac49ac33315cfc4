/**
 * Makes host keys in forms that every OpenSSH reads: RSA and ECDSA as PEM, and Ed25519 in OpenSSH's own form (PROTOCOL.key in its sources), because older
 * versions know no other for it.
 */
import { type KeyObject, generateKeyPairSync, randomBytes } from 'node:crypto';

/** Private keys by file name, as sshd's configuration and the Secret have them. */
export function makeHostKeys(): Record<string, string> {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 3072 });
  const ecdsa = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    ssh_host_key_rsa: rsa.privateKey.export({ type: 'pkcs1', format: 'pem' }),
    ssh_host_key_ecdsa: ecdsa.privateKey.export({ type: 'sec1', format: 'pem' }),
    ssh_host_key_ed25519: opensshEd25519(generateKeyPairSync('ed25519').privateKey),
  };
}

const type = 'ssh-ed25519';

function opensshEd25519(key: KeyObject): string {
  const { x, d } = key.export({ format: 'jwk' });
  const [publicPart, seed] = [x, d].map((part) => Buffer.from(part ?? '', 'base64url'));
  const publicKey = Buffer.concat([string(type), string(publicPart!)]);
  // Twice the same number: with a passphrase it shows whether that was the right one.
  const check = randomBytes(4);
  const secret = Buffer.concat([check, check, publicKey, string(Buffer.concat([seed!, publicPart!])), string('')]);
  const padding = Buffer.from(Array.from({ length: (8 - (secret.length % 8)) % 8 }, (_, i) => i + 1));
  const body = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    string('none'), // no cipher,
    string('none'), // and no function that makes a key of a passphrase,
    string(''), // and so no options of it
    number(1),
    string(publicKey),
    string(Buffer.concat([secret, padding])),
  ]);
  const lines = body.toString('base64').match(/.{1,70}/g) ?? [];
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n');
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function string(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([number(bytes.length), bytes]);
}
