/**
 * What a client needs to know of a cluster, whichever way it was learnt: from a kubeconfig file or from inside a pod.
 */
export interface ClusterConfig {
  /** May have a path, as behind Rancher's proxy. */
  readonly server: URL;
  readonly namespace: string;
  /** Asked again for each new connection, so that files that changed are read again. */
  readonly tls: () => Promise<TlsOptions>;
  readonly proxy?: URL | undefined;
  readonly credentials: CredentialSource;
  /** Impersonation, where the kubeconfig asks for it. */
  readonly headers: Readonly<Record<string, string | string[]>>;
}

export interface TlsOptions {
  readonly ca?: string | undefined;
  readonly serverName?: string | undefined;
  readonly insecure: boolean;
  readonly certificate?: ClientCertificate | undefined;
}

export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface Credentials {
  /** The value of the Authorization header. */
  readonly authorization?: string | undefined;
  readonly certificate?: ClientCertificate | undefined;
}

export interface CredentialSource {
  get(): Promise<Credentials>;
  /** After a 401: forget `refused`, if it is still what is cached. False where the next `get` can only give the same again. */
  renew(refused: Credentials): boolean;
}

export function fixedCredentials(credentials: Credentials): CredentialSource {
  return { get: async () => credentials, renew: () => false };
}
