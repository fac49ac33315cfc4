/** Flags of upstream's programs that are taken, so that old command lines work, and do nothing. Each says why, once, in the log. */

const policies = 'the chart installs admission policies, and there is no webhook';
const always = 'there is always one leader, by a Lease';
const noLimit = 'the client limits the calls that it has under way, and the API server does the rest';
const ownJob = 'the snapshot Job uses our own image';
const static_ = 'mirrored volumes are made by this operator, without a provisioner';
const instances = 'this version has no instances';

export const withoutEffect: Readonly<Record<string, string>> = {
  'enable-webhooks': policies,
  'webhook-bypass-groups': policies,
  'enable-leader-election': always,
  'client-qps': noLimit,
  'client-max-burst': noLimit,
  'enable-keycloak': 'Keycloak is used where --keycloak-url names one',
  'keycloak-compatibility-mode': 'only the current REST interface of Keycloak is spoken',
  'enable-pmp': static_,
  'mirror-provisioner-name': static_,
  'container-export-img': ownJob,
  'container-kaniko-img': ownJob,
  ...Object.fromEntries(flagsOfInstances().map((flag) => [flag, instances])),
};

/** Of upstream's instance-operator and instance-automation. Whoever serves instances takes out what then has an effect. */
function flagsOfInstances(): string[] {
  return `
    enable-instance namespace-whitelist website-base-url instances-auth-url container-env-sidecars-tag vm-registry
    vm-registry-secret container-env-x-vnc-img container-env-websockify-img container-env-content-downloader-img
    container-env-content-uploader-img container-env-instmetrics-server-endpoint container-env-content-tools-img
    max-concurrent-reconciles-termination max-concurrent-reconciles-submission
    max-concurrent-reconciles-inactive-termination max-concurrent-reconciles-expiration
    instance-termination-status-check-timeout instance-termination-status-check-interval
    webbastion-master-key-path public-exposure-ip-pool public-exposure-common-annotations
    public-exposure-common-labels public-exposure-loadbalancer-ips-key enable-auth gateway-api-mode
    gateway-api-refs-values enable-instance-termination enable-instance-submission
    enable-instance-inactive-termination enable-instance-expiration monitoring-prometheus-url
    monitoring-nginx-availability monitoring-bastion-ssh-availability monitoring-web-ssh-availability
    monitoring-nginx-data monitoring-bastion-ssh-data monitoring-web-ssh-data prometheus-query-step
    min-last-activity-requeue-time max-last-activity-requeue-time last-activity-check-threshold
    instance-inactive-termination-status-check-timeout instance-inactive-termination-max-number-of-alerts
    instance-inactive-termination-notification-interval expiration-notification-interval
    inactive-destruction-notification-interval margin-time enable-inactivity-notifications
    enable-expiration-notifications mail-template-dir mail-config-dir
  `
    .trim()
    .split(/\s+/);
}

export interface FlagWithoutEffect {
  readonly flag: string;
  readonly reason: string;
}

/** Takes these flags out of a command line, with their values. */
export function takeWithoutEffect(args: readonly string[]): {
  readonly rest: readonly string[];
  readonly taken: readonly FlagWithoutEffect[];
} {
  const rest: string[] = [];
  const taken: FlagWithoutEffect[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    const name = /^--?([a-z-]+)/.exec(arg)?.[1] ?? '';
    const reason = Object.hasOwn(withoutEffect, name) ? withoutEffect[name] : undefined;
    if (reason === undefined) rest.push(arg);
    else {
      taken.push({ flag: `--${name}`, reason });
      // Written apart from its flag, the value is the next word: the program takes no others.
      if (!arg.includes('=') && args[at + 1]?.startsWith('-') === false) at += 1;
    }
  }
  return { rest, taken };
}
