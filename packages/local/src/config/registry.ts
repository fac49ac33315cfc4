/** Configuration of a registry, as a pure function of where things are as it sees them. */
import { createHash } from 'node:crypto';

export interface RegistryPlace {
  /** HOST:PORT */
  address: string;
  images: string;
  certificate: string;
  key: string;
  /** How it knows who asks, in its own words. */
  auth: object;
  secret: string;
}

/** JSON is YAML, too. Unfinished uploads go on after a restart, because what signs their addresses stays. */
export function renderRegistry({ address, images, certificate, key, auth, secret }: RegistryPlace): string {
  return JSON.stringify({
    version: '0.1',
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: images }, delete: { enabled: true } },
    http: {
      addr: address,
      secret: createHash('sha256').update(`uploads ${secret}`).digest('hex'),
      tls: { certificate, key, minimumtls: 'tls1.2' },
    },
    auth,
  });
}
