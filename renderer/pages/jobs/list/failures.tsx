import { useEffect, useMemo, useState } from 'react';
import { useSearchParams } from 'wouter';
import type { CallFailure } from '../../../../protocol/client.ts';
import { parseSearch } from '../../../../protocol/job-search.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { FilterChips } from '../../../ui/indicators.tsx';
import { causeParam, createCauseReader, type FailureGroup, groupFailures } from './failure-groups.ts';

export function useCauseParam() {
  const [params, setParams] = useSearchParams();
  const setCause = (cause: string | null): void =>
    setParams(
      old => {
        const changed = new URLSearchParams(old);
        if (cause === null) changed.delete(causeParam);
        else changed.set(causeParam, cause);
        return changed;
      },
      { replace: true },
    );
  return { cause: params.get(causeParam), setCause };
}

/** Maximum number of jobs to load for the groups. */
const maxJobs = 1_000;

interface JobRows {
  readonly rows: readonly JobView[];
  readonly total: number;
  readonly isLoading: boolean;
  readonly isLoadingMore: boolean;
  readonly failure: CallFailure | null;
  readonly loadMore: () => void;
}

export interface Triage {
  /** The jobs to list: all found jobs, or only those that failed for the selected cause. */
  readonly rows: readonly JobView[];
  readonly isFiltered: boolean;
  /** Empty while the list is not filtered by the state `failed`. */
  readonly groups: readonly FailureGroup[];
  /** Number of loaded jobs. The groups cover only loaded jobs. */
  readonly counted: number;
}

/** Groups failed jobs by cause while the search includes them. Loads up to `maxJobs` jobs for the groups. */
export function useTriage(text: string, cause: string | null, jobRows: JobRows): Triage {
  const t = useT();
  const { rows, total, isLoading, isLoadingMore, failure, loadMore } = jobRows;
  const isIdle = !isLoading && !isLoadingMore && failure === null;
  const isOn = useMemo(() => parseSearch(text).states.includes('failed'), [text]);
  const causeOf = useMemo(() => createCauseReader(name => t(`jobs.cause.${name}`)), [t]);
  const groups = useMemo(() => (isOn ? groupFailures(rows, causeOf) : []), [isOn, rows, causeOf]);
  const isFiltered = isOn && cause !== null;
  const shown = useMemo(
    () => (isFiltered ? rows.filter(job => causeOf(job) === cause) : rows),
    [isFiltered, rows, causeOf, cause],
  );
  const isPartial = rows.length < Math.min(total, maxJobs);
  useEffect(() => {
    if (isOn && isPartial && isIdle) loadMore();
  }, [isOn, isPartial, isIdle, loadMore]);
  return { rows: shown, isFiltered, groups, counted: rows.length };
}

interface FailureChipsProps {
  readonly triage: Triage;
  readonly cause: string | null;
  readonly total: number;
  readonly onChoose: (cause: string | null) => void;
}

/** Number of chips to show initially. A button shows all chips. */
const firstChips = 6;

/** Chips with the causes of failure and their numbers of jobs. A selected chip lists only the jobs with its cause. */
export function FailureChips({ triage: { groups, counted }, cause, total, onChoose }: FailureChipsProps) {
  const t = useT();
  const [isOpen, setOpen] = useState(false);
  if (groups.length === 0) return null;
  const shown = groups.filter((group, index) => isOpen || index < firstChips || group.cause === cause);
  const hidden = groups.length - shown.length;
  const chips = shown.map(group => ({
    id: group.cause,
    text: group.cause === '' ? t('jobs.failures.unknown') : group.cause,
    count: group.count,
  }));
  return (
    <div className="failures">
      <span className="muted">{t('jobs.failures.label')}</span>
      <FilterChips
        label={t('jobs.failures.label')}
        chips={chips}
        chosen={new Set(cause === null ? [] : [cause])}
        onToggle={id => onChoose(id === cause ? null : id)}
      />
      {groups.length > firstChips && (
        <Button kind="quiet" aria-expanded={isOpen} onClick={() => setOpen(was => !was)}>
          {isOpen ? t('jobs.failures.fewer') : t('jobs.failures.more', { count: hidden })}
        </Button>
      )}
      {counted < total && <span className="muted">{t('jobs.failures.part', { shown: counted, total })}</span>}
    </div>
  );
}
