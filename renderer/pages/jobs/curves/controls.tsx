import { useState } from 'react';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import type { AxisRange } from './lines.ts';
import { toggled, type View } from './view.ts';
import { maxSmoothing } from './aligned.ts';

interface ControlsProps {
  readonly view: View;
  /** The numbers of the attempts that have points. */
  readonly attempts: readonly number[];
  readonly nameOf: (attempt: number) => string;
  /** The full range of the axis. */
  readonly range: AxisRange;
  readonly onChange: (change: Partial<View>) => void;
}

/** Controls that apply to all charts. */
export function Controls({ view, attempts, nameOf, range, onChange }: ControlsProps) {
  const t = useT();
  const { axis, smoothing, isLog, zoom } = view;
  const shown = zoom ?? range;
  return (
    <div className="curve-controls">
      <div className="chips" role="group" aria-label={t('curves.axis')}>
        {(['step', 'time'] as const).map(name => (
          <button
            key={name}
            type="button"
            className="chip chip-button"
            aria-pressed={axis === name}
            onClick={() => onChange({ axis: name })}
          >
            {t(`curves.axis.${name}`)}
          </button>
        ))}
      </div>
      <label className="curve-slider">
        {t('curves.smoothing')}
        <input
          type="range"
          min="0"
          max={maxSmoothing}
          step="0.01"
          value={smoothing}
          onChange={event => onChange({ smoothing: event.target.valueAsNumber })}
        />
        <output>{smoothing.toFixed(2)}</output>
      </label>
      <label className="curve-check">
        <input
          type="checkbox"
          checked={isLog}
          onChange={event => onChange({ isLog: event.target.checked })}
        />
        {t('curves.log')}
      </label>
      {attempts.length > 1 && (
        <div className="chips" role="group" aria-label={t('curves.attempts')}>
          {attempts.map(attempt => (
            <button
              key={attempt}
              type="button"
              className="chip chip-button"
              aria-pressed={view.attempts?.has(attempt) ?? true}
              onClick={() => onChange({ attempts: toggled(view.attempts, attempt, attempts) })}
            >
              {nameOf(attempt)}
            </button>
          ))}
        </div>
      )}
      <Range key={`${axis} ${shown.join(' ')}`} axis={axis} shown={shown} onChange={onChange} />
      {zoom !== null && <Button onClick={() => onChange({ zoom: null })}>{t('curves.zoom.reset')}</Button>}
    </div>
  );
}

/** Size of one unit in the number fields: one step, or one minute in milliseconds. */
const unitSize = { step: 1, time: 60_000 };

/** Sets the visible range with number fields, for users who cannot drag in a chart. */
function Range({
  axis,
  shown,
  onChange,
}: {
  readonly axis: View['axis'];
  readonly shown: AxisRange;
  readonly onChange: ControlsProps['onChange'];
}) {
  const t = useT();
  const unit = unitSize[axis];
  const inUnits = (x: number): string => String(Number((x / unit).toFixed(2)));
  const [from, setFrom] = useState(inUnits(shown[0]));
  const [to, setTo] = useState(inUnits(shown[1]));
  const chosen: AxisRange = [Math.round(Number(from) * unit), Math.round(Number(to) * unit)];
  const isValidRange = from !== '' && to !== '' && chosen[0] >= 0 && chosen[0] < chosen[1];
  const field = (name: 'from' | 'to', value: string, set: (value: string) => void) => (
    <label>
      {t(`curves.zoom.${name}.${axis}`)}
      <input type="number" min="0" step="any" value={value} onChange={event => set(event.target.value)} />
    </label>
  );
  return (
    <form
      className="curve-range"
      onSubmit={event => {
        event.preventDefault();
        if (isValidRange) onChange({ zoom: chosen });
      }}
    >
      {field('from', from, setFrom)}
      {field('to', to, setTo)}
      <Button type="submit" disabled={!isValidRange}>
        {t('curves.zoom')}
      </Button>
    </form>
  );
}
