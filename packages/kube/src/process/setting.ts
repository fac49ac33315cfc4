/** The kinds of a setting, each with how its text is read. Declared as `duration().default('10m').describe('…')`. */

export interface SettingSpec<T> {
  /** As --help shows it; "flag" is one that takes no value. */
  readonly form: string;
  readonly parse: (text: string) => T;
  readonly text: string;
  readonly env?: string | undefined;
  readonly fallback?: string | undefined;
  readonly isOptional?: boolean | undefined;
}

export interface Setting<out T> {
  readonly spec: SettingSpec<T>;
  /** Instead of PODLOOM_ and the name. */
  env(name: string): Setting<T>;
  /** Written as a user would write it. */
  default(text: string): Setting<T>;
  optional(): Setting<T | undefined>;
  /** One or more sentences: what it does, its unit, why one would change it. */
  describe(text: string): Setting<T>;
}

export const text = (): Setting<string> => setting('text', (value) => value);

export const path = (): Setting<string> => setting('path', (value) => value);

export function oneOf<const V extends string>(...values: readonly V[]): Setting<V> {
  return setting(values.join('|'), (value) => {
    const found = values.find((one) => one === value);
    if (found === undefined) throw new Error(`"${value}" is none of ${values.join(', ')}`);
    return found;
  });
}

export function integer({ min = -Infinity, max = Infinity } = {}): Setting<number> {
  return setting('number', (value) => {
    const number = /^-?\d{1,15}$/.test(value) ? Number(value) : NaN;
    if (!(number >= min && number <= max)) throw new Error(`"${value}" is not a whole number${range(min, max)}`);
    return number;
  });
}

/** In milliseconds, written as 250ms, 10s, 5m or 1h30m. */
export const duration = (): Setting<number> => setting('duration', parseDuration);

export const flag = (): Setting<boolean> =>
  setting('flag', (value) => {
    if (value !== 'true' && value !== 'false') throw new Error(`"${value}" is neither true nor false`);
    return value === 'true';
  }).default('false');

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

export function parseDuration(value: string): number {
  if (value === '0') return 0;
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(value)) {
    throw new Error(`"${value}" is not a duration such as 250ms, 10s, 5m or 1h30m`);
  }
  const parts = value.matchAll(/([\d.]+)(ms|s|m|h)/g);
  return [...parts].reduce((sum, [, number, unit]) => sum + Number(number) * (unitMs[unit ?? ''] ?? 0), 0);
}

function setting<T>(form: string, parse: (text: string) => T): Setting<T> {
  return declare({ form, parse, text: '' });
}

function declare<T>(spec: SettingSpec<T>): Setting<T> {
  return {
    spec,
    env: (name) => declare({ ...spec, env: name }),
    default: (fallback) => declare({ ...spec, fallback }),
    optional: () => declare<T | undefined>({ ...spec, isOptional: true }),
    describe: (sentence) => declare({ ...spec, text: sentence }),
  };
}

function range(min: number, max: number): string {
  if (min === -Infinity && max === Infinity) return '';
  return max === Infinity ? ` of at least ${min}` : ` from ${min} to ${max}`;
}
