/**
 * A throw-away certificate for 127.0.0.1 and "localhost", made in the test: no key is committed and no openssl is needed. Just enough
 * DER (X.690) for one certificate; the product itself never makes any here.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};
const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const oid = (...bytes: number[]) => der(0x06, Buffer.from(bytes));
const utcTime = (year: number) => der(0x17, Buffer.from(`${String(year % 100).padStart(2, '0')}0101000000Z`));

const ecdsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));

export function selfSigned(commonName: string): TestCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(commonName)))));
  const year = new Date().getUTCFullYear();
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ecdsaWithSha256,
    name,
    sequence(utcTime(year - 1), utcTime(year + 2)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(alternativeNames(), certificateAuthority())),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, ecdsaWithSha256, der(0x03, Buffer.of(0), signature));
  return { cert: pem('CERTIFICATE', certificate), key: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
}

function alternativeNames(): Buffer {
  const names = sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.of(127, 0, 0, 1)));
  return sequence(oid(0x55, 0x1d, 0x11), der(0x04, names));
}

function certificateAuthority(): Buffer {
  return sequence(oid(0x55, 0x1d, 0x13), der(0x01, Buffer.of(0xff)), der(0x04, sequence(der(0x01, Buffer.of(0xff)))));
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
