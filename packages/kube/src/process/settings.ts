/**
 * A program's settings, declared in one place each with its sentence, and read once at the start: flag, then environment, then file, then
 * default. `--help` and the reference page are made from the same declarations.
 */
import { parseArgs } from 'node:util';
import { InvalidInput } from '@podloom/api';
import type { Setting } from './setting.ts';

type Declarations = Readonly<Record<string, Setting<unknown>>>;
type Values<D extends Declarations> = { readonly [K in keyof D]: D[K] extends Setting<infer T> ? T : never };

export interface SettingSources {
  /** What follows the program's name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What a file said, by the names of the declarations. */
  readonly file?: Readonly<Record<string, unknown>> | undefined;
}

export interface SettingRow {
  readonly name: string;
  readonly flag: string;
  readonly env: string;
  readonly form: string;
  readonly fallback: string | undefined;
  readonly isRequired: boolean;
  readonly text: string;
}

export interface Settings<D extends Declarations> {
  /** Throws one InvalidInput that names everything that is wrong. */
  read(sources: SettingSources): Values<D>;
  asksForHelp(args: readonly string[]): boolean;
  help(usage: string): string;
  /** For the reference page and the chart. */
  readonly rows: readonly SettingRow[];
}

export function settings<const D extends Declarations>(declarations: D): Settings<D> {
  const rows: SettingRow[] = Object.entries(declarations).map(([name, { spec }]) => ({
    name,
    flag: `--${dashed(name)}`,
    env: spec.env ?? `PODLOOM_${dashed(name).replaceAll('-', '_').toUpperCase()}`,
    form: spec.form,
    fallback: spec.fallback,
    isRequired: spec.fallback === undefined && !spec.isOptional,
    text: spec.text,
  }));

  return {
    rows,
    asksForHelp: (args) => args.includes('--help') || args.includes('-h'),
    read({ args, env, file = {} }) {
      const problems: string[] = [];
      const flags = readFlags(args, declarations, problems);
      const values: Record<string, unknown> = {};
      for (const { name, flag, env: variable, fallback, isRequired } of rows) {
        const written =
          from(flag, flags[dashed(name)]) ??
          from(variable, env[variable] || undefined) ??
          from(`${name} in the file`, file[name]) ??
          from(`the default of ${flag}`, fallback);
        if (written) {
          try {
            values[name] = declarations[name]?.spec.parse(written.text);
          } catch (error) {
            problems.push(`${written.where}: ${error instanceof Error ? error.message : String(error)}`);
          }
        } else if (isRequired) {
          problems.push(`${flag} (or ${variable}) is needed: ${declarations[name]?.spec.text}`);
        }
      }
      for (const name of Object.keys(file)) {
        if (!Object.hasOwn(declarations, name)) problems.push(`${name} in the file: there is no such setting`);
      }
      if (problems.length > 0) throw new InvalidInput('SETTINGS', `${problems.join('\n')}\nSee --help`);
      return Object.freeze(values) as Values<D>;
    },
    help(usage) {
      const heads = rows.map(({ flag, form }) => (form === 'flag' ? flag : `${flag} ${form.toUpperCase()}`));
      const width = Math.max(...heads.map((head) => head.length), '--help'.length);
      const lines = rows.map(({ text, fallback, isRequired, env }, at) => {
        const state = isRequired ? 'needed' : fallback === undefined ? 'optional' : `default ${fallback || '""'}`;
        return `  ${heads[at]?.padEnd(width)}  ${text} [${state}; ${env}]`;
      });
      return [`Usage: ${usage}`, '', ...lines, `  ${'--help'.padEnd(width)}  Shows this.`, ''].join('\n');
    },
  };
}

function readFlags(args: readonly string[], declarations: Declarations, problems: string[]) {
  const options = Object.fromEntries(
    Object.entries(declarations).map(([name, { spec }]) => [
      dashed(name),
      { type: spec.form === 'flag' ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  /** As other programs of Kubernetes have it: `--flag=true` is `--flag`, and `--flag=false` is `--no-flag`. */
  const withoutValue = (arg: string): string => {
    const [, name = '', value] = /^--([a-z][a-z0-9-]*)=(true|false)$/.exec(arg) ?? [];
    if (options[name]?.type !== 'boolean') return arg;
    return value === 'true' ? `--${name}` : `--no-${name}`;
  };
  try {
    return parseArgs({ args: args.map(withoutValue), options, allowNegative: true }).values;
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
    return {};
  }
}

function from(where: string, value: unknown): { readonly where: string; readonly text: string } | undefined {
  if (value === undefined || value === null) return undefined;
  return { where, text: typeof value === 'string' ? value : JSON.stringify(value) };
}

/** nodeName becomes node-name. */
function dashed(name: string): string {
  return name.replaceAll(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
}
