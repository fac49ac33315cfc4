/** How a Keycloak is started: its folder, its command line and its environment, as pure functions of where things are. */
import { join } from 'node:path';

export interface KeycloakPlace {
  /** A folder of its own with links to the program, and with its data, as the process sees it. */
  home: string;
  address: string;
  port: number;
  /** Certificate and key, as the process sees them. */
  certificate: string;
  key: string;
}

/** What the program has, and `home` links to: it looks for all of it, and for its data, below one folder. */
export const programFolders = ['lib', 'conf', 'providers', 'themes'] as const;

/** Realms in this folder are made at the start, unless they are there. */
export const importFolder = join('data', 'import');

export function keycloakUrl({ address, port }: Pick<KeycloakPlace, 'address' | 'port'>): string {
  return `https://${address}:${port}`;
}

/** Not by its own script, which insists on data beside the program. */
export function keycloakCommand(place: KeycloakPlace): [string, ...string[]] {
  return ['java', ...javaOptions(place.home), ...serverOptions(place)];
}

/** A small machine's choice: a heap for a class of people, a collector without threads, and the quick compiler alone. */
function javaOptions(home: string): string[] {
  const opened = ['java.util', 'java.util.concurrent', 'java.security'];
  const properties = {
    'file.encoding': 'UTF-8',
    'java.security.egd': 'file:/dev/urandom',
    'java.util.concurrent.ForkJoinPool.common.threadFactory':
      'io.quarkus.bootstrap.forkjoin.QuarkusForkJoinWorkerThreadFactory',
    'java.util.logging.manager': 'org.jboss.logmanager.LogManager',
    'jboss.server.config.dir': join(home, 'conf'),
    'kc.home.dir': home,
    'picocli.disable.closures': 'true',
    'user.country': 'US',
    'user.language': 'en',
  };
  return [
    '-Xms64m',
    '-Xmx192m',
    '-XX:MaxMetaspaceSize=256m',
    '-XX:+UseSerialGC',
    '-XX:TieredStopAtLevel=1',
    '-XX:+ExitOnOutOfMemoryError',
    '-XX:-UsePerfData',
    ...opened.map((name) => `--add-opens=java.base/${name}=ALL-UNNAMED`),
    ...Object.entries(properties).map(([name, value]) => `-D${name}=${value}`),
    '-cp',
    join(home, 'lib', 'quarkus-run.jar'),
    'io.quarkus.bootstrap.runner.QuarkusEntryPoint',
  ];
}

function serverOptions(place: KeycloakPlace): string[] {
  return [
    'start',
    '--optimized',
    '--cache=local',
    '--import-realm',
    // Its database would write half a second later: what was said to be done would be lost with the process.
    '--db-url-properties=;NON_KEYWORDS=VALUE;WRITE_DELAY=0',
    `--hostname=${keycloakUrl(place)}`,
    `--http-host=${place.address}`,
    `--https-port=${place.port}`,
    `--https-certificate-file=${place.certificate}`,
    `--https-certificate-key-file=${place.key}`,
  ];
}

/** The administrator that an empty database begins with. */
export function keycloakEnv(home: string, adminPassword: string): Record<string, string> {
  return { HOME: home, KC_BOOTSTRAP_ADMIN_USERNAME: adminName, KC_BOOTSTRAP_ADMIN_PASSWORD: adminPassword };
}

export const adminName = 'admin';
