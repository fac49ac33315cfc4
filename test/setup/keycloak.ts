/** The Keycloak of a private cluster, as its administrator and as people see it: that of `make labs`. */
export { type Keycloak, type KeycloakFacts, openKeycloak } from '../../tools/keycloak.ts';
