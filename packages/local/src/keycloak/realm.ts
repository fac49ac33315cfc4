/**
 * The realm that a Keycloak of ours begins with: the client that people log in with and whose roles are their groups in Kubernetes, and the
 * account by which an operator manages users and roles. Who the people are is not said here.
 */

export const realmName = 'podloom';
/** People log in with it, and its roles are the groups. Public, as a command line cannot keep a secret. */
export const userClient = 'k8s';
export const operatorClient = 'podloom-labs-operator';
/** Before a role's name, so that nobody gets a group of Kubernetes' own by a role. */
export const groupPrefix = 'kubernetes:';

/** Of every client that is made later, too. */
const defaultScopes = ['basic', 'profile', 'email', 'roles', 'kubernetes-groups'];
const operatorRights = [
  'manage-users',
  'query-clients',
  'manage-clients',
  'manage-events',
  'view-events',
  'view-clients',
];

export function renderRealm({ operatorSecret }: { operatorSecret: string }): string {
  const serviceAccount = `service-account-${operatorClient}`;
  return JSON.stringify({
    realm: realmName,
    enabled: true,
    sslRequired: 'all',
    bruteForceProtected: true,
    // Long enough for an afternoon in a lab with one login.
    ssoSessionIdleTimeout: 4 * 3600,
    clientScopes: clientScopes(),
    defaultDefaultClientScopes: defaultScopes,
    clients: [
      {
        clientId: userClient,
        name: 'Kubernetes',
        publicClient: true,
        standardFlowEnabled: true,
        directAccessGrantsEnabled: true,
        // Where a command line waits for the answer of a browser.
        redirectUris: ['http://localhost:8000/*', 'http://localhost:18000/*'],
        attributes: { 'pkce.code.challenge.method': 'S256' },
      },
      {
        clientId: operatorClient,
        name: 'Operator of the labs',
        secret: operatorSecret,
        standardFlowEnabled: false,
        directAccessGrantsEnabled: false,
        serviceAccountsEnabled: true,
      },
    ],
    users: [
      {
        username: serviceAccount,
        enabled: true,
        serviceAccountClientId: operatorClient,
        clientRoles: { 'realm-management': operatorRights },
      },
    ],
  });
}

/** A realm that is imported with one scope of its own gets none of Keycloak's, so those that tokens need are here as well. */
function clientScopes(): object[] {
  return [
    scope('basic', [mapper('sub', 'oidc-sub-mapper', {})]),
    scope('profile', [
      attribute('username', 'preferred_username'),
      attribute('firstName', 'given_name'),
      attribute('lastName', 'family_name'),
      mapper('name', 'oidc-full-name-mapper', {}),
    ]),
    scope('email', [
      attribute('email', 'email'),
      mapper('emailVerified', 'oidc-usermodel-property-mapper', {
        'user.attribute': 'emailVerified',
        'claim.name': 'email_verified',
        'jsonType.label': 'boolean',
      }),
    ]),
    scope('roles', [
      mapper('realm roles', 'oidc-usermodel-realm-role-mapper', { 'claim.name': 'realm_access.roles', ...texts }),
      mapper('client roles', 'oidc-usermodel-client-role-mapper', {
        'claim.name': 'resource_access.${client_id}.roles',
        ...texts,
        'id.token.claim': 'false',
      }),
      mapper('audience', 'oidc-audience-resolve-mapper', {}),
    ]),
    scope('kubernetes-groups', [
      mapper('groups', 'oidc-usermodel-client-role-mapper', {
        'usermodel.clientRoleMapping.clientId': userClient,
        'usermodel.clientRoleMapping.rolePrefix': groupPrefix,
        'claim.name': 'groups',
        ...texts,
      }),
    ]),
  ];
}

const texts = { 'jsonType.label': 'String', multivalued: 'true' };

function scope(name: string, protocolMappers: readonly object[]): object {
  return { name, protocol: 'openid-connect', attributes: { 'include.in.token.scope': 'true' }, protocolMappers };
}

function attribute(name: string, claim: string): object {
  const config = { 'user.attribute': name, 'claim.name': claim, 'jsonType.label': 'String' };
  return mapper(claim, 'oidc-usermodel-attribute-mapper', config);
}

function mapper(name: string, protocolMapper: string, config: Readonly<Record<string, string>>): object {
  const tokens = ['id.token.claim', 'access.token.claim', 'userinfo.token.claim', 'introspection.token.claim'];
  const everywhere = Object.fromEntries(tokens.map((token) => [token, 'true']));
  return { name, protocol: 'openid-connect', protocolMapper, config: { ...everywhere, ...config } };
}
