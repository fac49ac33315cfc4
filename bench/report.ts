/** What a benchmark gives back, and how it is shown. Medians, because a shared machine has outliers; the middle half as the spread. */

/** One competitor at one task. `samples` are milliseconds for one unit of the task. */
export interface Measurement {
  readonly task: string;
  readonly who: string;
  readonly samples: readonly number[];
}

/** A promise about a figure. */
export interface Bar {
  readonly text: string;
  readonly value: number;
  readonly limit: number;
  readonly unit: string;
  readonly atLeast?: boolean;
}

export interface Report {
  readonly title: string;
  /** Whose figures the ratios are of. */
  readonly ours: string;
  readonly measurements: readonly Measurement[];
  readonly bars: readonly Bar[];
  /** What a reader must know to judge the figures. */
  readonly notes: readonly string[];
}

/** A folder of `bench/` with a `bench.ts` that exports this as `bench`. */
export interface Bench {
  run(progress: (text: string) => void): Promise<Report>;
}

export function quantile(samples: readonly number[], q: number): number {
  if (samples.length === 0) throw new Error('Nothing was measured');
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const [low, high] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!];
  return low + (high - low) * (at - Math.floor(at));
}

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

export function medianOf(measurements: readonly Measurement[], task: string, who: string): number {
  const found = measurements.find((one) => one.task === task && one.who === who);
  if (found === undefined) throw new Error(`${who} was not measured at ${task}`);
  return median(found.samples);
}

export const holds = (bar: Bar): boolean => (bar.atLeast === true ? bar.value >= bar.limit : bar.value <= bar.limit);

/** The values behind the table, for `dist/bench.json`. */
export function summary(report: Report) {
  return {
    title: report.title,
    rows: report.measurements.map(({ task, who, samples }) => ({
      task,
      who,
      medianMs: median(samples),
      lowerQuartileMs: quantile(samples, 0.25),
      upperQuartileMs: quantile(samples, 0.75),
      samples: samples.length,
      ratioToOurs: median(samples) / medianOf(report.measurements, task, report.ours),
    })),
    bars: report.bars.map((bar) => ({ ...bar, holds: holds(bar) })),
    notes: report.notes,
  };
}

export function table(report: Report): string {
  const { rows, bars, notes } = summary(report);
  const header = ['task', 'who', 'median', 'middle half', 'n', `of ${report.ours}`];
  const lines = rows.map((row, index) => [
    rows[index - 1]?.task === row.task ? '' : row.task,
    row.who,
    milliseconds(row.medianMs),
    `${milliseconds(row.lowerQuartileMs)} – ${milliseconds(row.upperQuartileMs)}`,
    String(row.samples),
    `${digits(row.ratioToOurs)} ×`,
  ]);
  const barLines = bars.map((bar) => {
    const sign = bar.atLeast === true ? '≥' : '≤';
    return `  ${bar.holds ? 'holds ' : 'BROKEN'}  ${bar.text}: ${digits(bar.value)} ${bar.unit} (${sign} ${bar.limit} ${bar.unit})`;
  });
  return [
    report.title,
    '',
    ...columns([header, ...lines]),
    '',
    ...barLines,
    '',
    ...notes.map((note) => `  ${note}`),
  ].join('\n');
}

function columns(rows: readonly string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map(
    (row) => `  ${row.map((cell, i) => (i < 2 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')}`,
  );
}

const digits = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
const milliseconds = (value: number): string => `${digits(value)} ms`;
