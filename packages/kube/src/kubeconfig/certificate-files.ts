/**
 * A client certificate in files that someone else replaces before it expires. Every new connection reads them by itself (`tls`); what is kept
 * here only tells, after a refusal, whether a new connection would have another one to show.
 */
import type { ClientCertificate, Credentials, CredentialSource } from './cluster.ts';

export function certificateFileCredentials(read: () => ClientCertificate | undefined): CredentialSource {
  let cached: Credentials | undefined;
  return {
    get: async () => (cached ??= { certificate: read() }),
    renew(refused) {
      if (cached !== refused) return true;
      try {
        const certificate = read();
        const old = refused.certificate;
        if (certificate?.cert === old?.cert && certificate?.key === old?.key) return false;
        cached = { certificate };
        return true;
      } catch {
        // Being replaced at this very moment: the next refusal looks again.
        return false;
      }
    },
  };
}
