/**
 * A step as the `ip`, `bridge` or `tc` command that it equals, for people who know those. We never run these texts; whoever does makes what we take for ours: group and
 * protocols are in them, as numbers, which need no file of names.
 */
import type { CreateLink, LinkSettings, Step } from '../plan/step.ts';
import type { Route, Rule } from '../plan/observed.ts';

const quoted = (text: string): string => (/^[\w.:/@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
const onOff = (value: boolean): string => (value ? 'on' : 'off');
const words = (...parts: readonly (string | false | undefined)[]): string => parts.filter(Boolean).join(' ');

export function describeSettings(set: LinkSettings): string {
  return words(
    set.name === undefined ? '' : `name ${quoted(set.name)}`,
    set.group === undefined ? '' : `group ${set.group}`,
    set.mac && `address ${set.mac}`,
    set.mtuBytes === undefined ? '' : `mtu ${set.mtuBytes}`,
    set.txQueueLength === undefined ? '' : `txqueuelen ${set.txQueueLength}`,
    set.addrGenMode && `addrgenmode ${set.addrGenMode}`,
    set.alias === undefined ? '' : `alias ${quoted(set.alias)}`,
    set.up && 'up',
  );
}

const routeText = ({ to, type, via, table, metric, protocol }: Route, link: string | undefined): string =>
  words(
    type === 'unicast' ? '' : type,
    to === '0.0.0.0/0' || to === '::/0' ? 'default' : to,
    via && `via ${via}`,
    link && `dev ${link}`,
    `proto ${protocol}`,
    metric === 0 ? '' : `metric ${metric}`,
    table === 254 ? '' : `table ${table}`,
  );

const ruleText = ({ from, iif, table, priority, protocol }: Rule): string =>
  words(`pref ${priority}`, from && `from ${from}`, iif && `iif ${iif}`, `lookup ${table}`, `protocol ${protocol}`);

const family = (text: string): string => (text.includes(':') ? 'ip -6' : 'ip');

const bornText = ({ queues, mac, mtuBytes }: Pick<CreateLink, 'queues' | 'mac' | 'mtuBytes'>, group = ''): string =>
  words(
    queues !== undefined && `numtxqueues ${queues} numrxqueues ${queues}`,
    group,
    mac && `address ${mac}`,
    mtuBytes !== undefined && `mtu ${mtuBytes}`,
  );

const optionText = ([name, value]: [string, string | number | boolean]): string =>
  `${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)} ${quoted(String(typeof value === 'boolean' ? Number(value) : value))}`;

const creationText = (step: CreateLink): string =>
  words(
    'ip link add',
    step.from && `link ${step.from.link}`,
    step.name,
    bornText(step, `group ${step.group}`),
    step.master && `master ${step.master}`,
    `type ${step.kind}`,
    ...Object.entries(step.data ?? {}).map(optionText),
    step.peer && `peer name ${step.peer.name} ${bornText(step.peer)} netns ${step.peer.in.toUpperCase()}`,
  );

/** One line, without saying where: `describePlan` groups by that. */
export function describeStep(step: Step): string {
  switch (step.do) {
    case 'createLink':
      return creationText(step);
    case 'setLink':
      return `ip link set ${step.link} ${describeSettings(step.set)}`;
    case 'setMaster':
      return `ip link set ${step.link} master ${step.master}`;
    case 'setPortFlags':
      return `bridge link set dev ${step.link} learning ${onOff(step.flags.learning)} flood ${onOff(step.flags.flood)}`;
    case 'setPortFilter':
      return `tc filter replace dev ${step.link} ingress pref ${step.priority} handle ${step.handle} bpf da bytecode '${step.program.length} instructions'`;
    case 'addFdb':
      return `bridge fdb replace ${step.mac} dev ${step.link} master static sticky`;
    case 'removeFdb':
      return `bridge fdb del ${step.mac} dev ${step.link} master`;
    case 'addAddress':
      return words(
        `ip addr add ${step.address}`,
        step.broadcast && `brd ${step.broadcast}`,
        `dev ${step.link}`,
        step.noDad && 'nodad',
        step.noPrefixRoute && 'noprefixroute',
      );
    case 'removeAddress':
      return `ip addr del ${step.address} dev ${step.link}`;
    case 'addRoute':
      return `${family(step.route.to)} route add ${routeText(step.route, step.link)}`;
    case 'removeRoute':
      return `${family(step.route.to)} route del ${routeText(step.route, step.link)}`;
    case 'addRule':
      return `${step.rule.family === 6 ? 'ip -6' : 'ip'} rule add ${ruleText(step.rule)}`;
    case 'removeRule':
      return `${step.rule.family === 6 ? 'ip -6' : 'ip'} rule del ${ruleText(step.rule)}`;
    case 'setSysctl':
      return `sysctl -w ${step.name.replace(/\.(conf|neigh)\./, `.$1.${step.link}.`)}=${quoted(step.value)}`;
    case 'deleteLink':
      return `ip link del ${step.link}`;
    default:
      return step satisfies never;
  }
}
