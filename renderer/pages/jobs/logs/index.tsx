import { useEffect } from 'react';
import { useSearchParams } from 'wouter';
import { isFinal, type JobDetail } from '../../../../protocol/job.ts';
import { useT } from '../../../i18n/index.ts';
import { detailOf } from '../../../api/client.ts';
import { Button } from '../../../ui/button.tsx';
import { Empty } from '../../../ui/empty.tsx';
import { AttemptChoice } from './attempt-choice.tsx';
import type { LogBook } from './log-book.ts';
import './log.css';
import { LogViewer } from './log-viewer.tsx';
import { useBook, useSnapshot } from './use-book.ts';
import { useWhyEmpty } from './why-empty.ts';

/** The logs of a job's attempts: `?tab=logs`, and `&attempt=2` for one that is not the newest. */
export function JobLogs({ job }: { readonly job: JobDetail }) {
  const [params, setParams] = useSearchParams();
  const wanted = job.attempts.find(({ attempt }) => String(attempt) === params.get('attempt'))?.attempt;
  const book = useBook(job.id, wanted);
  const show = (attempt: number): void => setParams({ tab: 'logs', attempt: String(attempt) });
  if (book === null) return <div aria-busy="true" />;
  return <Opened job={job} book={book} wanted={wanted} onShow={show} />;
}

interface OpenedProps {
  readonly job: JobDetail;
  readonly book: LogBook;
  readonly wanted: number | undefined;
  readonly onShow: (attempt: number) => void;
}

const lookAgainMs = 3_000;

function Opened({ job, book, wanted, onShow }: OpenedProps) {
  const t = useT();
  const log = useSnapshot(book);
  const { state } = log;
  const isEmpty = state === null || (state.total_lines === 0 && log.openLine === null);
  const mayCome = !isFinal(job.status);
  const why = useWhyEmpty(job, wanted ?? state?.attempt);
  useEffect(() => {
    // No event reports the first line, so poll.
    if (!isEmpty || !mayCome) return undefined;
    const timer = setInterval(book.lookAgain, lookAgainMs);
    return () => clearInterval(timer);
  }, [book, isEmpty, mayCome]);
  const choice = <AttemptChoice job={job} chosen={wanted ?? state?.attempt} onChoose={onShow} />;
  if (!isEmpty)
    return <LogViewer key={state.attempt} job={job} book={book} choice={choice} onShow={onShow} />;
  if (log.isMissing || state !== null)
    return (
      <>
        {choice}
        <Empty why={why} />
      </>
    );
  if (log.failure === null) return <div aria-busy="true" />;
  return (
    <>
      {choice}
      <Empty why={t('logs.failed', { why: detailOf(log.failure) ?? t('error.unreachable') })}>
        <Button onClick={book.retry}>{t('logs.again')}</Button>
      </Empty>
    </>
  );
}
