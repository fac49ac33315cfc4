/**
 * Makes certificates. The only importer of the X.509 library, which takes 12 MB and is therefore loaded where
 * certificates are made and nowhere else. It does not load without reflect-metadata before it.
 */
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';

export interface KeyPair {
  certificate: string;
  key: string;
}

export interface LeafRequest {
  commonName: string;
  organization?: string;
  /** Host names and addresses. A certificate with any can serve; every certificate can also be a client's. */
  names?: readonly string[];
}

export interface Authority {
  pair: KeyPair;
  issue: (request: LeafRequest) => Promise<KeyPair>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const years = 10;

export async function createAuthority(commonName: string): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(),
    name: `CN=${commonName}`,
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return authorityOf(certificate, keys.privateKey);
}

/** The authority that was made before, for certificates that a cluster lacks. */
export async function openAuthority(pair: KeyPair): Promise<Authority> {
  const der = x509.PemConverter.decodeFirst(pair.key);
  const key = await crypto.subtle.importKey('pkcs8', der, algorithm, true, ['sign']);
  return authorityOf(new x509.X509Certificate(pair.certificate), key);
}

async function authorityOf(certificate: x509.X509Certificate, signingKey: CryptoKey): Promise<Authority> {
  async function issue({ commonName: cn, organization, names = [] }: LeafRequest): Promise<KeyPair> {
    const own = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const usages = [x509.ExtendedKeyUsage.clientAuth, ...(names.length > 0 ? [x509.ExtendedKeyUsage.serverAuth] : [])];
    const leaf = await x509.X509CertificateGenerator.create({
      ...validity(),
      subject: `CN=${cn}${organization ? `,O=${organization}` : ''}`,
      issuer: certificate.subject,
      publicKey: own.publicKey,
      signingKey,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension(usages),
        await x509.AuthorityKeyIdentifierExtension.create(certificate.publicKey),
        ...(names.length > 0
          ? [
              new x509.SubjectAlternativeNameExtension(
                names.map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value })),
              ),
            ]
          : []),
      ],
    });
    return { certificate: leaf.toString('pem'), key: await privatePem(own.privateKey) };
  }

  return { pair: { certificate: certificate.toString('pem'), key: await privatePem(signingKey) }, issue };
}

/** The keys with which the API server signs and checks service accounts' tokens. */
export async function createSigningKey(): Promise<{ publicKey: string; key: string }> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const spki = await crypto.subtle.exportKey('spki', keys.publicKey);
  return { publicKey: x509.PemConverter.encode(spki, 'PUBLIC KEY'), key: await privatePem(keys.privateKey) };
}

/** A day back, so that a clock that is set a little later does not make them invalid. */
function validity(): { notBefore: Date; notAfter: Date; serialNumber: string } {
  const day = 86_400_000;
  return {
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + years * 365 * day),
    // The first bit clear, because a serial number is a positive integer.
    serialNumber: `01${randomBytes(15).toString('hex')}`,
  };
}

async function privatePem(key: CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}
