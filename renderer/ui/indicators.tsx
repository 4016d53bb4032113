/** Small components that show a value in a cell or a line. */
import { perLanguage } from '../i18n/formats.ts';
import { type MessageKey, useT } from '../i18n/index.ts';
import { Icon, type IconName } from './icon.tsx';

type StateName = Extract<MessageKey, `state.${string}`> extends `state.${infer Name}` ? Name : never;
type ShownState = Extract<StateName, IconName>;

/** The state of a worker or a job, as an icon and a word, so that colour is not the only difference. */
export function State({ name }: { readonly name: ShownState }) {
  const t = useT();
  return (
    <span className="state" data-state={name}>
      <Icon name={name} />
      {t(`state.${name}`)}
    </span>
  );
}

interface LabelChipsProps {
  readonly labels: Readonly<Record<string, string>>;
}

/** Shows the labels of a worker, or the label patterns of a job. */
export function LabelChips({ labels }: LabelChipsProps) {
  return (
    <span className="chips">
      {Object.entries(labels).map(([key, value]) => (
        <span key={key} className="chip" title={`${key}=${value}`}>
          {key}={value}
        </span>
      ))}
    </span>
  );
}

const countFormat = perLanguage(language => new Intl.NumberFormat(language));

interface FilterChip<K extends string> {
  readonly id: K;
  readonly text: string;
  readonly count: number;
}

interface FilterChipsProps<K extends string> {
  readonly label: string;
  readonly chips: readonly FilterChip<K>[];
  readonly chosen: ReadonlySet<K>;
  readonly onToggle: (id: K) => void;
}

/** Filters that the user can turn on and off, each with the number of matches. */
export function FilterChips<K extends string>({ label, chips, chosen, onToggle }: FilterChipsProps<K>) {
  const { language } = useT();
  return (
    <div className="chips" role="group" aria-label={label}>
      {chips.map(({ id, text, count }) => (
        <button
          key={id}
          type="button"
          className="chip chip-button"
          data-count={count}
          aria-pressed={chosen.has(id)}
          onClick={() => onToggle(id)}
        >
          {text} <span className="chip-count">{countFormat(language).format(count)}</span>
        </button>
      ))}
    </div>
  );
}

interface ProgressProps {
  /** Progress from 0 to 100; null while unknown. */
  readonly percent: number | null;
  /** Names the object for screen readers: "Job digits". */
  readonly label: string;
  /** Text next to the bar: "538 / 2,814". */
  readonly text: string;
}

/** A progress bar with its text. */
export function Progress({ percent, label, text }: ProgressProps) {
  return (
    <span className="progress">
      <span
        className="progress-bar"
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuetext={text}
        {...(percent === null ? {} : { 'aria-valuenow': Math.round(percent) })}
      >
        <span className="progress-done" style={{ width: `${percent ?? 0}%` }} />
      </span>
      <span className="progress-text">{text}</span>
    </span>
  );
}

interface SparklineProps {
  /** Sorted by time. `at` is in milliseconds since 1970, `value` is from 0 to 100. */
  readonly points: readonly { readonly at: number; readonly value: number }[];
  /** Describes the curve for screen readers. */
  readonly label: string;
  /** Maximum time that the full width represents, in milliseconds. Older points are omitted. */
  readonly spanMs: number;
  /** Minimum time that the full width represents, in milliseconds. A shorter curve is drawn at the right. */
  readonly minMs?: number;
}

/** Size of a sparkline in pixels. */
const width = 48;
const height = 18;

/** A small curve without axes. Its last point is at the right edge. */
export function Sparkline({ points, label, spanMs, minMs = 60_000 }: SparklineProps) {
  const end = points.at(-1)?.at ?? 0;
  const span = Math.min(spanMs, Math.max(minMs, end - (points[0]?.at ?? end)));
  const line = points
    .filter(({ at }) => at >= end - span)
    .map(({ at, value }) => {
      const x = width - 1 - ((end - at) / span) * (width - 2);
      const y = height - 1 - (value / 100) * (height - 2);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    });
  // A polyline needs two points, so draw a single value as a horizontal line.
  const shape = line.length === 1 ? `0,${line[0]?.split(',')[1]} ${line[0]}` : line.join(' ');
  return (
    <svg className="sparkline" width={width} height={height} role="img" aria-label={label}>
      <polyline points={shape} />
    </svg>
  );
}
