/**
 * Whom an API server believes besides those with a certificate of its authority. It reads the file again when it changes, so that an issuer
 * of tokens can come later.
 */

export interface TokenIssuer {
  url: string;
  /** Certificate of the authority that the issuer's own is from. */
  authority: string;
  /** The client whose tokens are meant for the API server. */
  audience: string;
}

/** Users are called as they log in, groups as the token has them; names that Kubernetes keeps for itself are refused. */
export function renderAuthentication(issuer?: TokenIssuer): string {
  const jwt = issuer && {
    issuer: { url: issuer.url, certificateAuthority: issuer.authority, audiences: [issuer.audience] },
    claimMappings: {
      username: { claim: 'preferred_username', prefix: '' },
      groups: { claim: 'groups', prefix: '' },
    },
    userValidationRules: [
      { expression: "!user.username.startsWith('system:')", message: 'names that begin with system: are reserved' },
      {
        expression: "user.groups.all(group, !group.startsWith('system:'))",
        message: 'groups that begin with system: are reserved',
      },
    ],
  };
  const config = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: jwt ? [jwt] : [],
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
