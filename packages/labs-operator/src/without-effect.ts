/** Flags of upstream's programs that are taken, so that old command lines work, and do nothing. Each says why, once, in the log. */

const policies = 'the chart installs admission policies, and there is no webhook';
const always = 'there is always one leader, by a Lease';
const noLimit = 'the client limits the calls that it has under way, and the API server does the rest';
const ownJob = 'the snapshot Job uses our own image';
const static_ = 'mirrored volumes are made by this operator, without a provisioner';
const instances = 'this version has no instances';
const sharedVolumes = 'this version has no shared volumes';
const images = 'use podloom image-list';

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
  'enable-instance': instances,
  'enable-sharedvolume': sharedVolumes,
  'shared-volume-storage-class': sharedVolumes,
  'max-concurrent-reconciles-shvol': sharedVolumes,
  'enable-imagelist': images,
  'image-list-config-file': images,
  'image-list-update-interval': images,
};

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
