import { useSearchParams } from 'wouter';
import { isFinal, type JobDetail } from '../../../../protocol/job.ts';
import { useT } from '../../../i18n/index.ts';
import { detailOf } from '../../../api/session.ts';
import { Button } from '../../../ui/button.tsx';
import { Empty } from '../../../ui/empty.tsx';
import { type LogStore, useFirstLine, useLogStore, useSnapshot } from './log-store.ts';
import './log.css';
import { LogViewer } from './log-viewer.tsx';
import { attemptText } from '../details/fact-texts.ts';
import { useFleet } from '../../../app/context.ts';

/** The logs of a job's attempts: `?tab=logs` for the newest attempt, and `&attempt=2` for another one. */
export function JobLogs({ job }: { readonly job: JobDetail }) {
  const [params, setParams] = useSearchParams();
  const selected = job.attempts.find(({ attempt }) => String(attempt) === params.get('attempt'))?.attempt;
  const store = useLogStore(job.id, selected);
  const show = (attempt: number): void => setParams({ tab: 'logs', attempt: String(attempt) });
  if (store === null) return <div aria-busy="true" />;
  return <LogContent job={job} store={store} wanted={selected} onShow={show} />;
}

interface LogContentProps {
  readonly job: JobDetail;
  readonly store: LogStore;
  readonly wanted: number | undefined;
  readonly onShow: (attempt: number) => void;
}

function LogContent({ job, store, wanted, onShow }: LogContentProps) {
  const t = useT();
  const log = useSnapshot(store);
  const { state } = log;
  const isEmpty = state === null || (state.total_lines === 0 && log.openLine === null);
  const emptyReason = useEmptyReason(job, wanted ?? state?.attempt);
  useFirstLine(store, isEmpty && !isFinal(job.status));
  const choice = <AttemptChoice job={job} chosen={wanted ?? state?.attempt} onChoose={onShow} />;
  if (!isEmpty)
    return <LogViewer key={state.attempt} job={job} store={store} choice={choice} onShow={onShow} />;
  if (log.isMissing || state !== null)
    return (
      <>
        {choice}
        <Empty why={emptyReason} />
      </>
    );
  if (log.failure === null) return <div aria-busy="true" />;
  return (
    <>
      {choice}
      <Empty why={t('logs.failed', { why: detailOf(log.failure) ?? t('error.unreachable') })}>
        <Button onClick={store.retry}>{t('logs.again')}</Button>
      </Empty>
    </>
  );
}

/** Returns why an attempt has no log. Uses the newest attempt if none is selected. */
function useEmptyReason({ attempts, status }: JobDetail, selected: number | undefined): string {
  const t = useT();
  const attempt = attempts.find(each => each.attempt === selected) ?? attempts.at(-1);
  const worker = useFleet(({ fleet }) => attempt && fleet.workers.get(attempt.worker_id));
  if (attempt === undefined) return t(isFinal(status) ? 'logs.empty.neverStarted' : 'logs.empty.notStarted');
  if (worker?.protocol === 1) return t('logs.empty.foreign', { worker: worker.name });
  if (attempt.outcome === null) return t('logs.empty.silent');
  return t('logs.empty.gone');
}

interface AttemptChoiceProps {
  readonly job: JobDetail;
  readonly chosen: number | undefined;
  readonly onChoose: (attempt: number) => void;
}

/** Selects an attempt and shows its outcome. Renders nothing when the job has no attempts. */
function AttemptChoice({ job, chosen, onChoose }: AttemptChoiceProps) {
  const t = useT();
  const { attempts } = job;
  if (attempts.length === 0) return null;
  const newest = attempts.toSorted((a, b) => b.attempt - a.attempt);
  return (
    <label className="log-attempt">
      {t('logs.attempt')}
      <select value={chosen ?? newest[0]?.attempt} onChange={({ target }) => onChoose(Number(target.value))}>
        {newest.map(({ attempt, outcome, cause }) => (
          <option key={attempt} value={attempt}>
            {cause === null
              ? t('logs.attempt.option', { attempt, outcome: attemptText(outcome, job, t) })
              : t('logs.attempt.because', {
                  attempt,
                  outcome: attemptText(outcome, job, t),
                  cause: t(`jobs.cause.${cause}`),
                })}
          </option>
        ))}
      </select>
    </label>
  );
}
