import type { CSSProperties } from 'react';
import type { Translator } from '../../../i18n/index.ts';
import { useFleetTexts } from '../../../app/fleet-texts.ts';
import { type MapFigure, temperatures } from './figures.ts';

const states = ['busy', 'idle', 'offline', 'trouble'] as const;

/** Explains the squares of the map. */
export function Legend({ figure }: { readonly figure: MapFigure }) {
  const t = useFleetTexts();
  return (
    <ul className="fleet-legend muted">
      {figure !== 'state' && (
        <li>
          {endText(t, figure, 0)}
          {[0, 0.25, 0.5, 0.75, 1].map(share => (
            <span key={share} className="gpu" style={shareStyle(share)} data-share={share} />
          ))}
          {endText(t, figure, 1)}
        </li>
      )}
      {states
        .filter(name => figure === 'state' || name === 'offline' || name === 'trouble')
        .map(name => (
          <li key={name}>
            <span
              className="gpu"
              data-state={name === 'trouble' ? 'busy' : name}
              data-level={name === 'busy' || name === 'trouble' ? 4 : 0}
              data-trouble={name === 'trouble' ? 'reported' : undefined}
            />
            {t(`fleet.legend.${name}`)}
          </li>
        ))}
      {figure !== 'state' && (
        <li>
          <span className="gpu" data-unknown />
          {t('map.unknown')}
        </li>
      )}
    </ul>
  );
}

/** Returns the style of a square. The stylesheet derives its colour and fill height from `--share`. */
export const shareStyle = (share: number): CSSProperties & { readonly '--share': string } => ({
  '--share': `${share * 100}%`,
});

function endText(t: Translator, figure: Exclude<MapFigure, 'state'>, share: 0 | 1): string {
  if (figure === 'temperature')
    return t('fleet.celsius', { value: share === 0 ? temperatures.min : temperatures.max });
  return t('workers.percent', { value: share * 100 });
}
