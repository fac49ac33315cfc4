/** What commands print: a table for people, or with `-o json` the very value that the table was made of. */

import { Option } from 'commander';

export type OutputFormat = 'table' | 'json';

export function outputOption(): Option {
  return new Option('-o, --output <format>', 'how to print').choices(['table', 'json']).default('table');
}

export interface Column<T> {
  readonly title: string;
  readonly of: (row: T) => string | number | undefined;
}

/** Columns as wide as their widest cell, two spaces between them, as kubectl does. */
export function formatTable<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
  const cells = rows.map((row) => columns.map(({ of }) => String(of(row) ?? '')));
  const lines = [columns.map(({ title }) => title.toUpperCase()), ...cells];
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  return lines
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A span of time as kubectl writes ages: the two largest units at most. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return seconds % 60 && minutes < 10 ? `${minutes}m${seconds % 60}s` : `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}
