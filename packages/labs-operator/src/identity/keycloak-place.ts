/** Where Keycloak is, and who we are there: read once at the start, where a mistake is the administrator's to mend. */
import { readFileSync } from 'node:fs';
import { InvalidInput } from '@podloom/api';
import type { LabsOperatorSettings } from '../settings.ts';

export interface KeycloakPlace {
  /** Without a slash at its end. */
  readonly url: string;
  readonly realm: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The client whose roles are those of the workspaces. */
  readonly rolesClientId: string;
  /** Authorities that are believed instead of the public ones. */
  readonly ca?: string | undefined;
}

/** Nothing, where no Keycloak is named. */
export function keycloakPlace(settings: LabsOperatorSettings): KeycloakPlace | undefined {
  const { keycloakUrl, keycloakRealm: realm, keycloakClientId: clientId, keycloakClientSecret } = settings;
  if (keycloakUrl === '') return undefined;
  const clientSecret = keycloakClientSecret.trim();
  const needed = { 'keycloak-realm': realm, 'keycloak-client-id': clientId, 'keycloak-client-secret': clientSecret };
  const missing = Object.entries(needed).flatMap(([flag, value]) => (value === '' ? [`--${flag}`] : []));
  if (missing.length > 0)
    throw new InvalidInput('KEYCLOAK_SETTINGS', `--keycloak-url is set; ${missing.join(', ')} must be set, too`);
  return {
    url: checkedUrl(keycloakUrl),
    realm,
    clientId,
    clientSecret,
    rolesClientId: settings.keycloakRolesClientId || clientId,
    ca: settings.keycloakCaFile === '' ? undefined : readAuthorities(settings.keycloakCaFile),
  };
}

function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
  if (!isPlain || !['https:', 'http:'].includes(url.protocol))
    throw new InvalidInput('KEYCLOAK_URL', `--keycloak-url: "${text}" is no address such as https://auth.example.com`);
  return url.href.replace(/\/+$/, '');
}

function readAuthorities(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new InvalidInput('KEYCLOAK_CA', `--keycloak-ca-file: ${String(cause)}`, { cause });
  }
}
