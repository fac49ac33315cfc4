/** For tests: what is not ours, and whether a plan touches it, asked of each step in the world that the steps before it have made. */
import type { PrimaryLinkRecord } from '@podloom/api';
import { isOurTable, isOurs, linkGroup, routeProtocol } from '../plan/mark.ts';
import type { Observed, ObservedLink, ObservedNamespace } from '../plan/observed.ts';
import { recordedLink } from '../plan/primary.ts';
import { simulate } from '../explain/simulate.ts';
import type { Step } from '../plan/step.ts';

/** The steps that they may not take, with why. */
export function trespasses(steps: readonly Step[], before: Observed, record?: PrimaryLinkRecord): string[] {
  const found: string[] = [];
  let world = before;
  for (const step of steps) {
    const say = (why: string): void => void found.push(`${why}: ${JSON.stringify(step)}`);
    judge(step, world, record).forEach(say);
    world = simulate([step], world);
    // What takes it back is done in the world that it made.
    for (const back of ('back' in step && step.back) || []) judge(back, world, record).forEach(say);
  }
  return found;
}

const unless = (fact: boolean, why: string): string[] => (fact ? [] : [why]);

function judge(step: Step, world: Observed, record: PrimaryLinkRecord | undefined): string[] {
  const here = world[step.in];
  const isOwn = (name: string): boolean => here?.links.some((link) => link.name === name && isOurs(link)) === true;
  // A route carries our protocol; what a setting was must be written down before it is another.
  const isPrimary = (name: string): boolean => step.owner === 'primary' && name === recordedLink(record);
  const isRecorded = (name: string, settings: readonly string[], among: object = {}): boolean =>
    isPrimary(name) && settings.every((setting) => Object.hasOwn(among, setting));
  const ownTable = (table: number): string[] => unless(step.in === 'pod' || isOurTable(table), 'table of another');

  switch (step.do) {
    case 'createLink':
      return [
        ...unless(step.group === linkGroup, 'made without our group'),
        ...unless(step.master === undefined || isOwn(step.master), 'port of a bridge of another'),
      ];
    case 'setLink':
      return isOwn(step.link)
        ? unless((step.set.group ?? linkGroup) === linkGroup, 'given away')
        : unless(isRecorded(step.link, Object.keys(step.set), record?.before), 'link of another');
    case 'setMaster':
      return unless(isOwn(step.link) && isOwn(step.master), 'link or bridge of another');
    case 'setSysctl':
      return unless(isRecorded(step.link, [step.name], record?.before?.sysctls), 'link of another');
    case 'addRoute':
    case 'removeRoute': {
      const { link, route } = step;
      return [
        ...unless(route.protocol === routeProtocol, 'route of another'),
        ...unless(link === undefined || isOwn(link) || isPrimary(link), 'link of another'),
        ...ownTable(route.table),
      ];
    }
    case 'addRule':
    case 'removeRule':
      return [...unless(step.rule.protocol === routeProtocol, 'rule of another'), ...ownTable(step.rule.table)];
    case 'deleteLink': {
      const link = here?.links.find(({ index }) => index === step.index);
      const ports = here?.links.filter(({ master }) => master !== undefined && master === link?.index) ?? [];
      return [
        ...unless(link === undefined || (isOurs(link) && link.name === step.link), 'link of another'),
        ...unless(ports.every(isOurs), 'bridge with a port of another'),
      ];
    }
    case 'addFdb': {
      const port = here?.links.find(({ name }) => name === step.link);
      const holders = here?.fdb.filter(({ link, mac, pinned }) => pinned && mac === step.mac && link !== port?.index);
      const isRival = ({ index, master }: ObservedLink): boolean =>
        master === port?.master && holders?.some(({ link }) => link === index) === true;
      return [
        ...unless(isOwn(step.link), 'link of another'),
        ...unless(here?.links.some(isRival) !== true, 'MAC that another port has'),
      ];
    }
    case 'addAddress':
    case 'removeAddress':
    case 'removeFdb':
    case 'setPortFilter':
    case 'setPortFlags':
      break;
  }
  return unless(isOwn(step.link), 'link of another');
}

/** Everything in a namespace that is not ours, without what was asked of the link that is named. */
export function foreignPart(namespace: ObservedNamespace | undefined, asked?: string): unknown {
  if (!namespace) return undefined;
  const links = namespace.links.filter((entry) => !isOurs(entry));
  const indices = new Set(links.map(({ index }) => index));
  const names = new Set(links.map(({ name }) => name));
  return {
    links: links.map((entry) =>
      entry.name === asked ? Object.assign({ ...entry }, { mtuBytes: 0, txQueueLength: 0 }) : entry,
    ),
    addresses: namespace.addresses.filter((entry) => indices.has(entry.link)),
    routes: namespace.routes.filter((route) => route.protocol !== routeProtocol),
    rules: namespace.rules.filter((rule) => rule.protocol !== routeProtocol),
    filters: namespace.filters.filter((filter) => indices.has(filter.link)),
    // What a bridge has learned moves to whoever sends next.
    fdb: namespace.fdb.filter((entry) => indices.has(entry.link) && entry.pinned),
    sysctls: namespace.sysctls
      .flatMap(({ link, name, value }) => (names.has(link) && link !== asked ? `${link} ${name} ${value}` : []))
      .toSorted(),
  };
}
