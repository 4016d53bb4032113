import type { JobDetail } from '../../../../protocol/job.ts';
import { useT } from '../../../i18n/index.ts';
import { outcomeText } from '../attempts.tsx';

interface AttemptChoiceProps {
  readonly job: JobDetail;
  readonly chosen: number | undefined;
  readonly onChoose: (attempt: number) => void;
}

/** Selects an attempt and shows its outcome; renders nothing without attempts. */
export function AttemptChoice({ job: { attempts }, chosen, onChoose }: AttemptChoiceProps) {
  const t = useT();
  if (attempts.length === 0) return null;
  const newest = attempts.toSorted((a, b) => b.attempt - a.attempt);
  return (
    <label className="log-attempt">
      {t('logs.attempt')}
      <select value={chosen ?? newest[0]?.attempt} onChange={({ target }) => onChoose(Number(target.value))}>
        {newest.map(({ attempt, outcome, cause }) => (
          <option key={attempt} value={attempt}>
            {cause === null
              ? t('logs.attempt.option', { attempt, outcome: outcomeText(outcome, t) })
              : t('logs.attempt.because', {
                  attempt,
                  outcome: outcomeText(outcome, t),
                  cause: t(`jobs.cause.${cause}`),
                })}
          </option>
        ))}
      </select>
    </label>
  );
}
