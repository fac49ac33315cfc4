/** What a filter does with what it matches: `tc` actions. */
import { struct } from '../codec/struct.ts';
import { attr, list, select, table } from '../codec/table.ts';
import { bytes, choice, i32, text, u32, type InOf, type OutOf } from '../codec/type.ts';
import type { LinkRef } from '../route/channel.ts';

const verdicts = { continue: -1, ok: 0, reclassify: 1, drop: 2, pipe: 3, stolen: 4, repeat: 6, trap: 8 } as const;
const verdict = choice(i32, verdicts);

const gact = table('gact', {
  times: attr(1, bytes),
  parameters: attr(2, struct({ index: u32, capabilities: u32, action: verdict, references: i32, bindings: i32 })),
  probability: attr(3, bytes),
});

const mirredModes = { egressRedirect: 1, egressMirror: 2, ingressRedirect: 3, ingressMirror: 4 } as const;
const mirred = table('mirred', {
  times: attr(1, bytes),
  parameters: attr(
    2,
    struct({
      index: u32,
      capabilities: u32,
      action: verdict,
      references: i32,
      bindings: i32,
      mode: choice(i32, mirredModes),
      link: u32,
    }),
  ),
});

const action = table('action', {
  kind: attr(1, text),
  options: attr(2, select<object>('kind', { gact, mirred })),
  index: attr(3, u32),
  statistics: attr(4, bytes),
  cookie: attr(6, bytes),
  flags: attr(7, bytes),
  hardwareStatistics: attr(8, bytes),
  usedHardwareStatistics: attr(9, bytes),
  inHardware: attr(10, u32),
});
export const actionsTable = list(action);

type Verdict = keyof typeof verdicts | number;

export type Action =
  | { readonly kind: 'gact'; readonly verdict: Verdict }
  | {
      readonly kind: 'mirred';
      readonly mode: keyof typeof mirredModes | number;
      readonly link: LinkRef;
      /** `stolen` for redirect and `pipe` for mirror unless said. */
      readonly verdict?: Verdict | undefined;
    };
export type SeenAction =
  | { kind: 'gact'; verdict: Verdict }
  | { kind: 'mirred'; mode: keyof typeof mirredModes | number; link: number; verdict: Verdict }
  | { kind?: undefined; otherKind: string };

export function actionToWire(given: Action, indexOf: (ref: LinkRef) => number): InOf<typeof action> {
  if (given.kind === 'gact') return { kind: 'gact', options: { parameters: { action: given.verdict } } };
  const { mode } = given;
  const usual = mode === 'egressRedirect' || mode === 'ingressRedirect' ? 'stolen' : 'pipe';
  const parameters = { mode, link: indexOf(given.link), action: given.verdict ?? usual };
  return { kind: 'mirred', options: { parameters } };
}

export function actionFromWire({ kind = '', options }: OutOf<typeof action>): SeenAction {
  if (kind === 'gact') {
    const { parameters } = (options ?? {}) as OutOf<typeof gact>;
    return { kind, verdict: parameters?.action ?? 'continue' };
  }
  if (kind === 'mirred') {
    const { parameters } = (options ?? {}) as OutOf<typeof mirred>;
    return {
      kind,
      mode: parameters?.mode ?? 0,
      link: parameters?.link ?? 0,
      verdict: parameters?.action ?? 'continue',
    };
  }
  return { otherKind: kind };
}
