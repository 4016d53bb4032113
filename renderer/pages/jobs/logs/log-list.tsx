import { type KeyboardEvent, type MouseEvent, type ReactNode, useEffect } from 'react';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import type { LogStore } from './log-store.ts';
import type { LogSnapshot } from './log-snapshot.ts';
import { LogRow, type RowKind } from './log-row.tsx';
import type { LogScroll } from './use-scroll.ts';
import type { LineSelection } from './log-foot.tsx';

interface LogListProps {
  readonly store: LogStore;
  readonly log: LogSnapshot;
  readonly scroll: LogScroll;
  readonly chosen: LineSelection;
  /** The line that the last search or jump found. */
  readonly current: number | null;
  readonly search: string;
  readonly hasTimes: boolean;
  readonly isWrapped: boolean;
  readonly label: string;
  /** Overlays at the bottom of the list. */
  readonly children: ReactNode;
}

/** The visible rows of a log. Users can select text as usual. Clicks on line numbers select whole lines. */
export function LogList(props: LogListProps) {
  const { store, log, scroll, chosen, current, search, hasTimes, isWrapped, label, children } = props;
  const t = useT();
  const total = log.state?.total_lines ?? 0;
  const first = log.state?.first_line ?? 0;
  const { lines, reach } = scroll;
  const [from, to] = [lines[0]?.line ?? 0, lines.at(-1)?.line ?? 0];
  useEffect(() => store.want(from, to), [store, from, to]);
  const kindOf = (line: number): RowKind => {
    if (line >= total) return 'open';
    if (store.lineAt(line) !== undefined) return 'line';
    return line < first ? 'gone' : 'unread';
  };
  const onClick = ({ target, shiftKey }: MouseEvent): void => {
    const number = target instanceof Element ? target.closest('.log-number') : null;
    const row = number?.closest<HTMLElement>('[data-line]') ?? null;
    if (row === null) return;
    const line = Number(row.dataset['line']);
    if (line < total) chosen.choose(line, shiftKey);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!event.shiftKey || (event.key !== 'ArrowDown' && event.key !== 'ArrowUp')) return;
    event.preventDefault();
    const last = chosen.lines?.last;
    const step = event.key === 'ArrowDown' ? 1 : -1;
    const line = last === undefined ? (current ?? scroll.topLine()) : last + step;
    if (line >= first && line < total) chosen.choose(line, last !== undefined);
  };
  return (
    <div className="log-frame">
      {reach.from > first && (
        <Button onClick={() => scroll.toLine(reach.from - 1)}>{t('logs.earlier')}</Button>
      )}
      {/* Screen readers must not announce new lines, because there may be hundreds per second. */}
      <div
        ref={scroll.scroller}
        className="log-lines"
        role="log"
        aria-live="off"
        aria-label={label}
        tabIndex={0}
        data-wrapped={isWrapped || undefined}
        onScroll={scroll.onScroll}
        onClick={onClick}
        onKeyDown={onKeyDown}
      >
        <div className="log-height" style={{ height: scroll.height }}>
          {lines.map(({ line, top }) => (
            <LogRow
              key={line}
              kind={kindOf(line)}
              line={store.lineAt(line) ?? null}
              open={line >= total ? log.openLine : null}
              number={line}
              index={line - reach.from}
              top={top}
              search={search}
              hasTime={hasTimes}
              isChosen={chosen.has(line)}
              isCurrent={line === current}
              measure={scroll.measure}
            />
          ))}
        </div>
      </div>
      {children}
    </div>
  );
}
