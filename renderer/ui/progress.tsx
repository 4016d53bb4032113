interface ProgressProps {
  /** 0 to 100; null while unknown. */
  readonly percent: number | null;
  /** Names the object: "Job digits". */
  readonly label: string;
  /** The text next to the bar: "538 / 2,814". */
  readonly text: string;
}

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
