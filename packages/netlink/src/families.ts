/**
 * The families of the route socket, for a channel, so that the same verbs serve direct and batched use. Each is made when it is first
 * asked for: a visit to a namespace uses two or three, and making all would cost more than the visit.
 */
import { addressFamily } from './route/address.ts';
import { vlanFamily } from './route/bridge-vlan.ts';
import type { Channel } from './route/channel.ts';
import { linkFamily } from './route/link.ts';
import { fdbFamily, neighbourFamily } from './route/neighbour.ts';
import { netconfFamily } from './route/netconf.ts';
import { netnsidFamily } from './route/netnsid.ts';
import { nexthopFamily } from './route/nexthop.ts';
import { routeFamily } from './route/route.ts';
import { ruleFamily } from './route/rule.ts';
import { statsFamily } from './route/stats.ts';
import { filterFamily } from './tc/filter.ts';
import { classFamily, qdiscFamily } from './tc/qdisc.ts';

interface Made {
  link?: ReturnType<typeof linkFamily>;
  address?: ReturnType<typeof addressFamily>;
  route?: ReturnType<typeof routeFamily>;
  nexthop?: ReturnType<typeof nexthopFamily>;
  rule?: ReturnType<typeof ruleFamily>;
  neighbour?: ReturnType<typeof neighbourFamily>;
  fdb?: ReturnType<typeof fdbFamily>;
  vlan?: ReturnType<typeof vlanFamily>;
  stats?: ReturnType<typeof statsFamily>;
  qdisc?: ReturnType<typeof qdiscFamily>;
  class?: ReturnType<typeof classFamily>;
  filter?: ReturnType<typeof filterFamily>;
  netconf?: ReturnType<typeof netconfFamily>;
  netnsid?: ReturnType<typeof netnsidFamily>;
}

export class RouteFamilies {
  readonly #channel: Channel;
  readonly #made: Made = {};

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  get link() {
    return (this.#made.link ??= linkFamily(this.#channel));
  }

  get address() {
    return (this.#made.address ??= addressFamily(this.#channel, this.link.indexOf));
  }

  get route() {
    return (this.#made.route ??= routeFamily(this.#channel, this.link.indexOf));
  }

  get nexthop() {
    return (this.#made.nexthop ??= nexthopFamily(this.#channel, this.link.indexOf));
  }

  get rule() {
    return (this.#made.rule ??= ruleFamily(this.#channel));
  }

  get neighbour() {
    return (this.#made.neighbour ??= neighbourFamily(this.#channel, this.link.indexOf));
  }

  get fdb() {
    return (this.#made.fdb ??= fdbFamily(this.#channel, this.link.indexOf));
  }

  /** The VLAN table of bridges: `bridge vlan`. */
  get vlan() {
    return (this.#made.vlan ??= vlanFamily(this.#channel, this.link.indexOf));
  }

  get stats() {
    return (this.#made.stats ??= statsFamily(this.#channel, this.link.indexOf));
  }

  get qdisc() {
    return (this.#made.qdisc ??= qdiscFamily(this.#channel, this.link.indexOf));
  }

  get class() {
    return (this.#made.class ??= classFamily(this.#channel, this.link.indexOf));
  }

  get filter() {
    return (this.#made.filter ??= filterFamily(this.#channel, this.link.indexOf));
  }

  get netconf() {
    return (this.#made.netconf ??= netconfFamily(this.#channel, this.link.indexOf));
  }

  get netnsid() {
    return (this.#made.netnsid ??= netnsidFamily(this.#channel));
  }
}

export type Families = { readonly [K in keyof RouteFamilies]: RouteFamilies[K] };
