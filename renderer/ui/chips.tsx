interface Labels {
  readonly labels: Readonly<Record<string, string>>;
}

/** Labels of a worker, or label patterns of a job. */
export function LabelChips({ labels }: Labels) {
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

/** Filters that can be toggled, each with its count. */
export function FilterChips<K extends string>({ label, chips, chosen, onToggle }: FilterChipsProps<K>) {
  return (
    <div className="chips" role="group" aria-label={label}>
      {chips.map(({ id, text, count }) => (
        <button
          key={id}
          type="button"
          className="chip chip-button"
          aria-pressed={chosen.has(id)}
          onClick={() => onToggle(id)}
        >
          {text} <span className="chip-count">{count}</span>
        </button>
      ))}
    </div>
  );
}
