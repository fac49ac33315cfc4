/** `tc qdisc` and `tc class`: how packets wait, and how fast they leave. */
import type { LinkRef, Channel } from '../route/channel.ts';
import {
  RTM_NEWQDISC,
  RTM_DELQDISC,
  RTM_GETQDISC,
  RTM_NEWTCLASS,
  RTM_DELTCLASS,
  RTM_GETTCLASS,
} from '../route/numbers.ts';
import { NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, request } from '../wire/request.ts';
import { formatHandle, parseHandle, statsOf, tcMessage, type Handle, type TcStats } from './message.ts';
import * as kinds from './qdisc-kinds.ts';
import type { HtbClassSettings, QdiscDataByKind, QdiscSettingsByKind } from './qdisc-kinds.ts';

const CLSACT_HANDLE = 0xffff_0000;

export const qdiscMessage = tcMessage('qdisc', kinds.qdiscTables);
export const classMessage = tcMessage('class', kinds.classTables);

type Kind = keyof QdiscSettingsByKind;
type Data<K extends Kind> =
  Partial<QdiscSettingsByKind[K]> extends QdiscSettingsByKind[K]
    ? { readonly kind: K; readonly data?: QdiscSettingsByKind[K] | undefined }
    : { readonly kind: K; readonly data: QdiscSettingsByKind[K] };

export interface QdiscPlace {
  readonly link: LinkRef;
  /** `root` unless said; `clsact` for ingress and clsact. */
  readonly parent?: Handle | undefined;
  readonly handle?: Handle | undefined;
}
export type QdiscSettings = QdiscPlace & { [K in Kind]: Data<K> }[Kind];

interface Place {
  index: number;
  handle: string;
  parent: string;
  stats: TcStats;
}
/** A qdisc as the kernel shows it; kinds without a table here are `otherKind`. */
export type Qdisc = Place &
  ({ [K in Kind]: { kind: K; data: QdiscDataByKind[K] } }[Kind] | { kind?: undefined; otherKind: string });

const toWire: { readonly [K in Kind]?: (given: QdiscSettingsByKind[K]) => object } = {
  htb: kinds.htbToWire,
  netem: kinds.netemToWire,
  tbf: kinds.tbfToWire,
};
const fromWire: Readonly<Record<string, (seen: never) => object>> = {
  htb: kinds.htbFromWire,
  netem: kinds.netemFromWire,
  tbf: kinds.tbfFromWire,
};

export function qdiscFamily(channel: Channel, indexOf: (ref: LinkRef) => number) {
  const change = (verb: string, type: number, flags: number, settings: QdiscSettings): void => {
    const { kind, data, link } = settings;
    const convert = toWire[kind] as ((given: object) => object) | undefined;
    // htb insists on its options, the others do without.
    const options = convert === undefined ? data : convert(data ?? {});
    const body = { ...placeOf(settings, kind), index: indexOf(link), kind, options };
    channel.run(request(`qdisc.${verb}`, type, flags, qdiscMessage, body));
  };
  return {
    add: (settings: QdiscSettings): void => change('add', RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, settings),
    /** Makes it, puts it in place of another kind, or changes the one that is there without losing packets. */
    replace: (settings: QdiscSettings): void => change('replace', RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, settings),
    /** Changes one that is there, and only if it is of that kind. */
    change: (settings: QdiscSettings): void => change('change', RTM_NEWQDISC, 0, settings),
    delete(settings: QdiscPlace & { readonly kind?: Kind }): void {
      const body = { ...placeOf(settings, settings.kind), index: indexOf(settings.link), kind: settings.kind };
      channel.run(request('qdisc.delete', RTM_DELQDISC, 0, qdiscMessage, body));
    },
    /** The kernel lists those of all links, so a link only filters here. */
    list(options: { readonly link?: LinkRef } = {}): Qdisc[] {
      const index = options.link === undefined ? undefined : indexOf(options.link);
      return channel
        .dump(request('qdisc.list', RTM_GETQDISC, 0, qdiscMessage, {}), qdiscMessage)
        .filter((seen) => index === undefined || seen.index === index)
        .map(toQdisc);
    },
  };
}
function placeOf(settings: QdiscPlace, kind: Kind | undefined): { parent: number; handle?: number } {
  const classifier = kind === 'clsact' || kind === 'ingress';
  const parent = parseHandle(settings.parent ?? (classifier ? 'clsact' : 'root'));
  if (settings.handle !== undefined) return { parent, handle: parseHandle(settings.handle) };
  return classifier ? { parent, handle: CLSACT_HANDLE } : { parent };
}

export function toQdisc(seen: ReturnType<typeof qdiscMessage.read>): Qdisc {
  const { kind = '', options } = seen;
  const place = {
    index: seen.index,
    handle: formatHandle(seen.handle),
    parent: formatHandle(seen.parent),
    stats: statsOf(seen),
  };
  if (!Object.hasOwn(kinds.qdiscTables, kind)) return { ...place, otherKind: kind };
  const data = options === undefined || options instanceof Uint8Array ? {} : options;
  const convert = Object.hasOwn(fromWire, kind) ? (fromWire[kind] as (seen: object) => object) : undefined;
  return { ...place, kind, data: convert === undefined ? data : convert(data) } as Qdisc;
}

export interface ClassSettings {
  readonly link: LinkRef;
  /** The qdisc or class above: `1:` or `1:1`. */
  readonly parent: Handle;
  /** Its own handle: `1:10`. */
  readonly handle: Handle;
  readonly kind: 'htb';
  readonly data: HtbClassSettings;
}
export type Class = Place & {
  /** Handle of the qdisc below it, which it has once something hangs there. */
  leaf?: string;
} & ({ kind: 'htb'; data: ReturnType<typeof kinds.htbClassFromWire> } | { kind?: undefined; otherKind: string });

export function classFamily(channel: Channel, indexOf: (ref: LinkRef) => number) {
  const change = (verb: string, flags: number, settings: ClassSettings): void => {
    const body = {
      index: indexOf(settings.link),
      parent: parseHandle(settings.parent),
      handle: parseHandle(settings.handle),
      kind: settings.kind,
      options: kinds.htbClassToWire(settings.data),
    };
    channel.run(request(`class.${verb}`, RTM_NEWTCLASS, flags, classMessage, body));
  };
  return {
    add: (settings: ClassSettings): void => change('add', NLM_F_CREATE | NLM_F_EXCL, settings),
    replace: (settings: ClassSettings): void => change('replace', NLM_F_CREATE, settings),
    delete(settings: Pick<ClassSettings, 'link' | 'handle'>): void {
      const body = { index: indexOf(settings.link), handle: parseHandle(settings.handle) };
      channel.run(request('class.delete', RTM_DELTCLASS, 0, classMessage, body));
    },
    list(options: { readonly link: LinkRef; readonly parent?: Handle }): Class[] {
      const parent = options.parent === undefined ? 0 : parseHandle(options.parent);
      const filter = { index: indexOf(options.link), parent };
      return channel.dump(request('class.list', RTM_GETTCLASS, 0, classMessage, filter), classMessage).map(toClass);
    },
  };
}
export function toClass(seen: ReturnType<typeof classMessage.read>): Class {
  const { kind = '', options } = seen;
  const place = {
    index: seen.index,
    handle: formatHandle(seen.handle),
    parent: formatHandle(seen.parent),
    stats: statsOf(seen),
    ...(seen.info === 0 ? {} : { leaf: formatHandle(seen.info) }),
  };
  if (kind !== 'htb') return { ...place, otherKind: kind };
  const data = options === undefined || options instanceof Uint8Array ? {} : options;
  return { ...place, kind, data: kinds.htbClassFromWire(data) };
}
