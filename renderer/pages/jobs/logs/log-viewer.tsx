import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import { urlOf } from '../../../../protocol/client.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { type LogState, logsApi } from '../../../../protocol/logs-api.ts';
import { usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { showToast } from '../../../ui/toast.tsx';
import { SearchBar, ToggleButton } from './log-bar.tsx';
import { SelectionBar, LogStatus, useLineSelection } from './log-foot.tsx';
import { type LogStore, useSnapshot } from './log-store.ts';
import { LogList } from './log-list.tsx';
import type { FoundLine } from './find-line.ts';
import { useLogScroll } from './use-scroll.ts';
import { useSearch } from './use-search.ts';

interface LogViewerProps {
  readonly job: JobDetail;
  readonly store: LogStore;
  /** The control that selects the attempt. */
  readonly choice: ReactNode;
  readonly onShow: (attempt: number) => void;
}

/**
 * Shows the log of an attempt. Handles Ctrl+F and F3, because the browser's search would find only rendered rows.
 */
export function LogViewer({ job, store, choice, onShow }: LogViewerProps) {
  const t = useT();
  const log = useSnapshot(store);
  const state = log.state ?? noLog;
  const [isWrapped, setWrapped] = useState(false);
  const [hasTimes, setTimes] = useState(false);
  const [written, setWritten] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const scroll = useLogScroll({
    first: state.first_line,
    end: state.total_lines + (log.openLine === null ? 0 : 1),
    isWrapped,
  });
  const search = useSearch(job.id, state.attempt, written);
  const chosen = useLineSelection(job.id, state.attempt);
  const { current, goTo } = useCurrent(scroll.toLine);
  const next = (): void => goTo(search.next(current ?? scroll.topLine() - 1), null);
  const previous = (): void => goTo(search.previous(current ?? scroll.topLine(), state.total_lines), null);
  /** Keeps the top line visible when wrapping changes the heights of the rows. */
  const wrap = (isOn: boolean): void => {
    const top = scroll.topLine();
    setWrapped(isOn);
    if (!scroll.isFollowing) scroll.toLine(top);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const isFind = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'f';
    if (!isFind && event.key !== 'F3') return undefined;
    event.preventDefault();
    if (!isFind && search.text !== '') return event.shiftKey ? previous() : next();
    field.current?.focus();
    return field.current?.select();
  };
  return (
    // Handle keys on the section, so that they work wherever the focus is inside it.
    <section className="log-viewer" aria-label={t('jobs.tab.logs')} onKeyDown={onKeyDown}>
      <div className="log-bar">
        {choice}
        <SearchBar
          field={field}
          written={written}
          onWritten={setWritten}
          search={search}
          current={current}
          onNext={next}
          onPrevious={previous}
        />
        <Button onClick={() => goTo(search.firstError(), t('logs.error.none'))}>{t('logs.error')}</Button>
        <ToggleButton isOn={isWrapped} text={t('logs.wrap')} onTurn={wrap} />
        <ToggleButton isOn={hasTimes} text={t('logs.times')} onTurn={setTimes} />
        <Download job={job} attempt={state.attempt} />
      </div>
      <LogList
        store={store}
        log={log}
        scroll={scroll}
        chosen={chosen}
        current={current}
        search={search.text}
        hasTimes={hasTimes}
        isWrapped={isWrapped}
        label={t('logs.title', { attempt: state.attempt })}
      >
        {!scroll.isFollowing && (
          <Button kind="primary" className="log-below" onClick={scroll.toEnd}>
            {scroll.newBelow === 0 ? t('logs.end') : t('logs.below', { count: scroll.newBelow })}
          </Button>
        )}
      </LogList>
      <LogStatus log={log} isFollowing={scroll.isFollowing} onRetry={store.retry} onShow={onShow} />
      <SelectionBar chosen={chosen} />
    </section>
  );
}

const noLog: Pick<LogState, 'attempt' | 'first_line' | 'total_lines'> = {
  attempt: 0,
  first_line: 0,
  total_lines: 0,
};

function Download({ job, attempt }: { readonly job: JobDetail; readonly attempt: number }) {
  const t = useT();
  const { baseUrl } = usePanel();
  const { href } = urlOf(baseUrl, logsApi.text.path, { id: job.id }, { attempt });
  return (
    <a className="button button-plain" href={href} download={`${job.config_name}-${attempt}.log`}>
      {t('logs.download')}
    </a>
  );
}

/** Manages the current line: the line that the last search or jump to an error found. */
function useCurrent(toLine: (line: number) => void) {
  const t = useT();
  const [current, setCurrent] = useState<number | null>(null);
  const goTo = async (searching: Promise<FoundLine>, none: string | null): Promise<void> => {
    const line = await searching;
    if (line === 'unread') return showToast(t('logs.search.failed'));
    if (line === null) return none === null ? undefined : showToast(none);
    setCurrent(line);
    return toLine(line);
  };
  return {
    current,
    goTo: (searching: Promise<FoundLine>, none: string | null) => void goTo(searching, none),
  };
}
