import { useId } from 'react';
import { Button } from '../../ui/button.tsx';
import type { Unit } from './model.ts';
import { useGalleryT } from './texts.tsx';

interface StepBarProps {
  readonly units: readonly Unit[];
  readonly unit: Unit;
  readonly positions: readonly number[];
  /** Index of the shown position. */
  readonly index: number;
  readonly onMove: (index: number) => void;
  readonly onUnit: (unit: Unit) => void;
}

/** The slider over the steps of all compared jobs. */
export function StepBar({ units, unit, positions, index, onMove, onUnit }: StepBarProps) {
  const t = useGalleryT();
  const sliderId = useId();
  const text = t(`files.at.${unit}`, { count: positions[index] ?? 0 });
  return (
    <div className="gallery-bar">
      {units.length > 1 && (
        <label className="viewer-compare">
          {t('gallery.unit')}
          <select value={unit} onChange={({ target }) => onUnit(target.value === 'epoch' ? 'epoch' : 'step')}>
            {units.map(each => (
              <option key={each} value={each}>
                {t(`gallery.unit.${each}`)}
              </option>
            ))}
          </select>
        </label>
      )}
      <div className="gallery-slider">
        <label htmlFor={sliderId}>{t(`gallery.unit.${unit}`)}</label>
        <Button
          aria-label={t('gallery.previousStep')}
          disabled={index === 0}
          onClick={() => onMove(index - 1)}
        >
          ←
        </Button>
        <input
          id={sliderId}
          type="range"
          min={0}
          max={positions.length - 1}
          value={index}
          aria-valuetext={text}
          onChange={({ target }) => onMove(Number(target.value))}
        />
        <Button
          aria-label={t('gallery.nextStep')}
          disabled={index === positions.length - 1}
          onClick={() => onMove(index + 1)}
        >
          →
        </Button>
        <output htmlFor={sliderId}>{text}</output>
      </div>
      <span className="muted gallery-keys">{t('gallery.keys')}</span>
    </div>
  );
}
