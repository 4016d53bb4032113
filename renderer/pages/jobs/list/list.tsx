import { useCallback, useMemo, useState } from 'react';
import { useLocation, useSearchParams, Link } from 'wouter';
import { shownName } from '../../../../protocol/job-about.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { JobSort, type JobState, jobStates, parseSearch } from '../../../../protocol/job-search.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { detailOf } from '../../../api/session.ts';
import { useFleet } from '../../../app/context.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { FilterChips } from '../../../ui/indicators.tsx';
import { Empty } from '../../../ui/empty.tsx';
import { Table } from '../../../ui/table.tsx';
import { BulkBar } from './bulk.tsx';
import { ColumnChooser } from './column-chooser.tsx';
import { useJobColumns } from './columns.tsx';
import { ConfigValuesContext, useConfigColumns } from './config-columns.tsx';
import { causeParam } from './failure-groups.ts';
import { FailureChips, useCauseParam, useTriage } from './failures.tsx';
import { chosenStates, shownState, type StateCounts, withState } from './filter.ts';
import { parseOrder, shownOrder, withOrder } from './job-order.ts';
import { useJobRows } from './job-rows.ts';

const idOf = (job: JobView): string => job.id;

export function JobList() {
  const t = useT();
  const [, go] = useLocation();
  const { text, setText, order, setOrder } = useListParams();
  const isBusy = useFleet(({ fleet, stream }) => fleet.seq < 0 || stream.kind === 'loading');
  const { cause, setCause } = useCauseParam();
  const jobRows = useJobRows(text, order);
  const { counts, total, isLoading, failure, loadMore, retry } = jobRows;
  const triage = useTriage(text, cause, jobRows);
  const { rows } = triage;
  const { chosen, choose, toggle } = useChosen(rows);
  const config = useConfigColumns();
  const columns = useJobColumns(chosen, toggle, config.columns);
  const nameOf = useCallback(
    (job: JobView) => t('jobs.rowName', { config: shownName(job), state: t(`state.${shownState(job)}`) }),
    [t],
  );
  const isWaiting = isBusy || isLoading;
  return (
    <div className="page jobs-page">
      <div className="page-head">
        <h1>{t('nav.jobs')}</h1>
        <NewJob kind="primary" />
      </div>
      <StateChips
        counts={counts}
        chosen={chosenStates(parseSearch(text))}
        onToggle={state => setText(withState(text, state))}
      />
      <div className="filter-row">
        <input
          type="search"
          aria-label={t('jobs.filter.label')}
          placeholder={t('jobs.filter.hint')}
          maxLength={200}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <span className="muted" role="status">
          {t('jobs.shown', { count: triage.isFiltered ? rows.length : total })}
        </span>
        <ColumnChooser rows={rows} />
      </div>
      <FailureChips triage={triage} cause={cause} total={total} onChoose={setCause} />
      {failure !== null && (
        <p className="trouble" role="alert">
          {detailOf(failure) ?? t('error.unreachable')} <Button onClick={retry}>{t('action.retry')}</Button>
        </p>
      )}
      <BulkBar rows={rows} chosen={chosen} choose={choose} />
      <ConfigValuesContext value={config.reader}>
        <Table
          label={t('jobs.table')}
          columns={columns}
          rows={rows}
          idOf={idOf}
          nameOf={nameOf}
          onOpen={job => go(`/jobs/${job.id}`)}
          isBusy={isWaiting}
          order={shownOrder(order)}
          onOrder={({ column, isDescending }) => setOrder(JobSort.parse(column), isDescending)}
          onNearEnd={loadMore}
          empty={isWaiting ? null : <NoJobs isFiltered={text !== ''} onClear={() => setText('')} />}
        />
      </ConfigValuesContext>
    </div>
  );
}

/** Keeps filter and order in the URL, so that a link shows the same jobs. */
function useListParams() {
  const [params, setParams] = useSearchParams();
  const text = params.get('q') ?? '';
  const sort = params.get('sort');
  const direction = params.get('order');
  const order = useMemo(
    () => parseOrder(new URLSearchParams({ sort: sort ?? '', order: direction ?? '' })),
    [sort, direction],
  );
  const setText = (to: string): void =>
    setParams(
      old => {
        const changed = new URLSearchParams(old);
        if (to === '') changed.delete('q');
        else changed.set('q', to);
        if (to === '') changed.delete(causeParam);
        return changed;
      },
      { replace: true },
    );
  const setOrder = (by: JobSort, isDescending: boolean): void =>
    setParams(old => withOrder(old, { sort: by, isDescending }), { replace: true });
  return { text, setText, order, setOrder };
}

/** Returns the selected jobs, without jobs that the list no longer shows. */
function useChosen(all: readonly JobView[]) {
  const [ids, choose] = useState<ReadonlySet<JobId>>(() => new Set());
  const toggle = useCallback(
    (id: JobId) => choose(was => (was.has(id) ? without(was, id) : new Set([...was, id]))),
    [],
  );
  const chosen = useMemo(() => {
    if (ids.size === 0) return ids;
    const existing = all.flatMap(({ id }) => (ids.has(id) ? id : []));
    return existing.length === ids.size ? ids : new Set(existing);
  }, [all, ids]);
  return { chosen, choose, toggle };
}

const without = (ids: ReadonlySet<JobId>, gone: JobId): ReadonlySet<JobId> =>
  new Set([...ids].filter(id => id !== gone));

interface StateChipsProps {
  readonly counts: StateCounts;
  readonly chosen: ReadonlySet<JobState>;
  readonly onToggle: (state: JobState) => void;
}

function StateChips({ counts, chosen, onToggle }: StateChipsProps) {
  const t = useT();
  const chips = jobStates.map(id => ({ id, text: t(`state.${id}`), count: counts[id] }));
  return <FilterChips label={t('jobs.phases')} chips={chips} chosen={chosen} onToggle={onToggle} />;
}

function NoJobs({ isFiltered, onClear }: { readonly isFiltered: boolean; readonly onClear: () => void }) {
  const t = useT();
  if (isFiltered) {
    return (
      <Empty why={t('jobs.noneMatch')}>
        <Button onClick={onClear}>{t('jobs.filter.clear')}</Button>
      </Empty>
    );
  }
  return (
    <Empty why={t('jobs.none')}>
      <NewJob kind="plain" />
    </Empty>
  );
}

/** A link to the submit form, for users who may submit. */
export function NewJob({ kind }: { readonly kind: 'plain' | 'primary' }) {
  const t = useT();
  return (
    <Allowed call={queueApi.submit}>
      <Link href="/jobs/new" className={`button button-${kind}`}>
        {t('jobs.new')}
      </Link>
    </Allowed>
  );
}
