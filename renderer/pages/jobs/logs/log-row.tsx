import { memo } from 'react';
import type { LogLine } from '../../../../protocol/logs-api.ts';
import { perLocale } from '../../../i18n/formats.ts';
import { useT } from '../../../i18n/index.ts';
import { Icon } from '../../../ui/icon.tsx';
import { piecesOf } from './line-text.ts';

/**
 * `line`: loaded. `open`: the trainer has not finished the line, so the line has no number. `unread`: not loaded yet.
 * `gone`: the server no longer stores the line.
 */
export type RowKind = 'line' | 'open' | 'unread' | 'gone';

interface LogTextProps {
  readonly kind: RowKind;
  /** Null when the line is unfinished or not loaded. */
  readonly line: LogLine | null;
  /** The text of the unfinished line; null for other rows. */
  readonly open: string | null;
  readonly search: string;
}

interface LogRowProps extends LogTextProps {
  readonly number: number;
  readonly top: number;
  readonly hasTime: boolean;
  readonly isChosen: boolean;
  readonly isCurrent: boolean;
  readonly measure: ((row: HTMLElement | null) => void) | null;
  readonly index: number;
}

const exactTime = perLocale({
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  hourCycle: 'h23',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  timeZoneName: 'short',
});

export const LogRow = memo(function LogRow(props: LogRowProps) {
  const { kind, line, number, top, hasTime, isChosen, isCurrent, measure, index } = props;
  const t = useT();
  return (
    <div
      ref={measure}
      className="log-row"
      style={{ transform: `translateY(${top}px)` }}
      data-index={index}
      data-line={number}
      data-kind={line?.note === undefined ? kind : 'note'}
      data-chosen={isChosen || undefined}
      data-current={isCurrent || undefined}
    >
      <span className="log-number" translate="no">
        {kind === 'open' ? '…' : number + 1}
      </span>
      {hasTime && (
        <span className="log-time">
          {line !== null && <time dateTime={line.at}>{exactTime(t).format(Date.parse(line.at))}</time>}
        </span>
      )}
      <LogText {...props} />
    </div>
  );
});

/** The text of a line in its colours, or the reason why the text is missing. */
export function LogText({ kind, line, open, search }: LogTextProps) {
  const t = useT();
  if (kind === 'unread') return <span className="log-text" aria-hidden="true" />;
  if (kind === 'gone') return <span className="log-text muted">{t('logs.row.gone')}</span>;
  if (line?.note !== undefined)
    return (
      <span className="log-text">
        <Icon name="recovering" /> <strong>{t(`logs.note.${line.note}`)}</strong> {line.text}
      </span>
    );
  return (
    <span className="log-text" dir="ltr" translate="no">
      {piecesOf(line?.text ?? open ?? '', search).map(piece => {
        const look = [piece.hue && `log-${piece.hue}`, ...piece.weights.map(weight => `log-${weight}`)];
        const Piece = piece.isHit ? 'mark' : 'span';
        return (
          <Piece key={piece.start} className={look.filter(Boolean).join(' ') || undefined}>
            {piece.text}
          </Piece>
        );
      })}
      {line?.is_cut === true && <em className="log-cut">{t('logs.row.cut')}</em>}
    </span>
  );
}
