import { type ReactNode, useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { isFinal, type JobDetail } from '../../../../protocol/job.ts';
import { useT } from '../../../i18n/index.ts';
import { LogText } from './log-row.tsx';
import type { LogSnapshot } from './log-snapshot.ts';
import { type LogStore, useFirstLine, useLogStore, useSnapshot } from './log-store.ts';
import './log.css';

interface JobProps {
  readonly job: JobDetail;
}

/** The last lines of the newest attempt's log. While the job runs, new lines appear as the trainer prints them. */
export function LogTail({ job }: JobProps) {
  const store = useLogStore(job.id, job.attempts.at(-1)?.attempt);
  return store === null ? null : <Tail job={job} store={store} />;
}

const shownLines = 12;

interface TailProps extends JobProps {
  readonly store: LogStore;
}

function Tail({ job, store }: TailProps) {
  const t = useT();
  const log = useSnapshot(store);
  const end = log.state?.total_lines ?? 0;
  const isEmpty = end === 0 && log.openLine === null;
  const mayGrow = !isFinal(job.status);
  useFirstLine(store, isEmpty && mayGrow);
  if (isEmpty && !mayGrow) return null;
  const first = Math.max(log.state?.first_line ?? 0, end - shownLines);
  const lines = Array.from({ length: end - first }, (_, at) => first + at);
  return (
    <section className="card" aria-labelledby="job-log">
      <div className="glance-head">
        <h2 id="job-log">{t('jobs.glance.log')}</h2>
        <span className="log-standing">
          <TailStatus job={job} log={log} />
        </span>
        <Link className="glance-more" href={`/jobs/${job.id}?tab=logs`}>
          {t('jobs.glance.fullLog')}
        </Link>
      </div>
      {isEmpty ? (
        <p className="muted">{t('logs.empty.silent')}</p>
      ) : (
        <Lines end={end} title={t('jobs.glance.log')}>
          {lines.map(line => {
            const text = store.lineAt(line) ?? null;
            return (
              <div key={line} data-line={line}>
                <LogText kind={text === null ? 'unread' : 'line'} line={text} open={null} search="" />
              </div>
            );
          })}
          {log.openLine !== null && (
            <div>
              <LogText kind="open" line={null} open={log.openLine} search="" />
            </div>
          )}
        </Lines>
      )}
    </section>
  );
}

interface LinesProps {
  /** Number of lines in the log. The box scrolls to its end when this number changes. */
  readonly end: number;
  readonly title: string;
  readonly children: ReactNode;
}

function Lines({ end, title, children }: LinesProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
  }, [end]);
  return (
    <div ref={box} className="log-tail" role="log" aria-live="off" aria-label={title} tabIndex={0}>
      {children}
    </div>
  );
}

/** Shows whether more lines will follow. Reports a silent worker as lost, because its log stream stays open. */
function TailStatus({ job, log: { tail } }: JobProps & { readonly log: LogSnapshot }) {
  const t = useT();
  if (job.status === 'recovering' && tail === 'open')
    return (
      <span role="status" data-tail="lost">
        {t('jobs.glance.silent')}
      </span>
    );
  return (
    <span role="status" data-tail={tail}>
      {t(`logs.tail.${tail}`)}
    </span>
  );
}
