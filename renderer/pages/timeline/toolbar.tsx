import type { ReactNode } from 'react';
import { Button } from '../../ui/button.tsx';
import { looks } from './draw.ts';
import { zoomNames } from './scale.ts';
import { stateText, type TimelineTranslator, useTimelineT } from './texts.tsx';
import type { View } from './use-view.ts';

/** Share of the visible range by which a button pans. */
const panShare = 0.5;

interface ToolbarProps {
  readonly view: View;
  /** Further buttons. */
  readonly children: ReactNode;
}

/** Buttons that zoom and pan. */
export function Toolbar({ view, children }: ToolbarProps) {
  const t = useTimelineT();
  return (
    <div className="timeline-bar-tools">
      <div className="chips" role="group" aria-label={t('timeline.zoom')}>
        {zoomNames.map(name => (
          <button
            key={name}
            type="button"
            className="chip chip-button"
            aria-pressed={view.zoom === name}
            onClick={() => view.setZoom(name)}
          >
            {t(`timeline.zoom.${name}`)}
          </button>
        ))}
      </div>
      <div className="timeline-moves">
        <Button aria-label={t('timeline.earlier')} onClick={() => view.panBy(-panShare)}>
          ‹
        </Button>
        <Button aria-pressed={view.isFollowing} onClick={view.follow}>
          {t('timeline.now')}
        </Button>
        <Button aria-label={t('timeline.later')} onClick={() => view.panBy(panShare)}>
          ›
        </Button>
      </div>
      {children}
    </div>
  );
}

const legend = ['running', 'rest', 'completed', 'failed', 'requeued', 'cancelled', 'predicted'] as const;

/** The colours and signs of the bars. */
export function Legend() {
  const t = useTimelineT();
  return (
    <ul className="timeline-legend" aria-label={t('timeline.legend')}>
      {legend.map(state => (
        <li key={state}>
          <span
            className="timeline-swatch"
            data-colour={state === 'rest' ? undefined : looks[state].colour}
            data-state={state}
            aria-hidden="true"
          >
            {state !== 'rest' && looks[state].sign}
          </span>
          {legendText(t, state)}
        </li>
      ))}
    </ul>
  );
}

function legendText(t: TimelineTranslator, state: (typeof legend)[number]): string {
  if (state === 'rest') return t('timeline.legend.rest');
  return state === 'requeued' ? t('timeline.legend.moved') : stateText(t, state);
}
