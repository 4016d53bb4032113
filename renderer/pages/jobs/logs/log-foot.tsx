import { useEffect, useState, useCallback } from 'react';
import { useT } from '../../../i18n/index.ts';
import { detailOf } from '../../../api/session.ts';
import { Button } from '../../../ui/button.tsx';
import { showToast } from '../../../ui/toast.tsx';
import type { LogSnapshot } from './log-snapshot.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import { logsApi } from '../../../../protocol/logs-api.ts';
import { usePanel } from '../../../app/context.ts';
import { plainText } from './line-text.ts';

/** A range of selected lines. `first` is where the selection started, and may be greater than `last`. */
interface LineRange {
  readonly first: number;
  readonly last: number;
}

export interface LineSelection {
  readonly lines: LineRange | null;
  readonly count: number;
  readonly has: (line: number) => boolean;
  /** Selects a line; with `isUpTo`, extends the selection to this line. */
  readonly choose: (line: number, isUpTo: boolean) => void;
  readonly chooseNone: () => void;
  /** Reads the selected lines as plain text. Returns null when a read failed. */
  readonly text: () => Promise<string | null>;
}

/** Maximum number of lines to copy. For more, users can download the log. */
const maxSelected = 10_000;
const maxLinesPerRead = 2_000;

export function useLineSelection(id: JobId, attempt: number): LineSelection {
  const { client } = usePanel();
  const [lines, setLines] = useState<LineRange | null>(null);
  // Without a selection, the range is empty.
  const low = lines === null ? 0 : Math.min(lines.first, lines.last);
  const high = lines === null ? -1 : Math.max(lines.first, lines.last);
  const text = useCallback(async (): Promise<string | null> => {
    const texts: string[] = [];
    for (let line = low; line <= high; line += maxLinesPerRead) {
      const query = { attempt, line, limit: Math.min(maxLinesPerRead, high - line + 1) };
      // Read in sequence, because the parts form one text.
      const answer = await client.call(logsApi.read, { params: { id }, query });
      if (!answer.ok) return null;
      texts.push(...answer.value.lines.map(each => plainText(each.text)));
    }
    return texts.map(each => `${each}\n`).join('');
  }, [client, id, attempt, low, high]);
  return {
    lines,
    count: high - low + 1,
    has: line => line >= low && line <= high,
    choose: (line, isUpTo) =>
      setLines(was => (isUpTo && was !== null ? { ...was, last: line } : { first: line, last: line })),
    chooseNone: () => setLines(null),
    text,
  };
}

interface LogStatusProps {
  readonly log: LogSnapshot;
  readonly isFollowing: boolean;
  readonly onRetry: () => void;
  readonly onShow: (attempt: number) => void;
}

/** Shows the number of lines, whether more lines will follow, the last failure, and a button for a newer attempt. */
export function LogStatus({ log, isFollowing, onRetry, onShow }: LogStatusProps) {
  const t = useT();
  const { state, tail, failure, nextAttempt } = log;
  if (state === null) return null;
  const isPaused = !isFollowing && tail === 'open';
  return (
    <div className="log-standing">
      <span>{t('logs.lines', { count: state.total_lines })}</span>
      {state.first_line > 0 && <span>{t('logs.gone', { count: state.first_line })}</span>}
      <span role="status" data-tail={isPaused ? 'paused' : tail}>
        {isPaused ? t('logs.paused') : t(`logs.tail.${tail}`)}
      </span>
      {failure !== null && (
        <span role="alert" className="trouble">
          {t('logs.failed', { why: detailOf(failure) ?? t('error.unreachable') })}{' '}
          <Button onClick={onRetry}>{t('logs.again')}</Button>
        </span>
      )}
      {nextAttempt !== null && (
        <Button onClick={() => onShow(nextAttempt)}>{t('logs.next', { attempt: nextAttempt })}</Button>
      )}
    </div>
  );
}

/** Actions for the selected lines. */
export function SelectionBar({ chosen }: { readonly chosen: LineSelection }) {
  const t = useT();
  /** Text for copying by hand, on pages without a clipboard, such as pages over plain HTTP from another machine. */
  const [shown, setShown] = useState<string | null>(null);
  useEffect(() => setShown(null), [chosen.text]);
  if (chosen.lines === null) return null;
  const copy = async (): Promise<void> => {
    const text = await chosen.text();
    if (text === null) return showToast(t('logs.chosen.failed'));
    try {
      await navigator.clipboard.writeText(text);
      return showToast(t('action.copied'));
    } catch {
      setShown(text);
      return showToast(t('workers.copy.byHand'));
    }
  };
  const isTooMuch = chosen.count > maxSelected;
  return (
    <div className="log-chosen" role="group" aria-label={t('logs.chosen', { count: chosen.count })}>
      <span>{t('logs.chosen', { count: chosen.count })}</span>
      {isTooMuch && <span className="muted">{t('logs.chosen.tooMany', { most: maxSelected })}</span>}
      <Button disabled={isTooMuch} onClick={() => void copy()}>
        {t('logs.chosen.copy')}
      </Button>
      <Button kind="quiet" onClick={chosen.chooseNone}>
        {t('logs.chosen.none')}
      </Button>
      {shown !== null && (
        <textarea
          ref={select}
          className="log-by-hand mono"
          aria-label={t('logs.chosen', { count: chosen.count })}
          readOnly
          rows={6}
          value={shown}
        />
      )}
    </div>
  );
}

function select(field: HTMLTextAreaElement | null): void {
  field?.focus();
  field?.select();
}
