import { useCallback, useMemo, useState } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import type { JobId } from '../../../protocol/ids.ts';
import type { JobView } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { useFleet } from '../../app/context.ts';
import { Allowed } from '../../app/guarded.tsx';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { FilterChips } from '../../ui/chips.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Table } from '../../ui/table.tsx';
import { BulkBar } from './bulk.tsx';
import { useJobColumns } from './columns.tsx';
import {
  chosenState,
  createNewestFirst,
  matcherOf,
  type Phase,
  parseFilter,
  type PhaseCounts,
  phases,
  shownState,
  withOlder,
  withState,
} from './filter.ts';
import { NewJob } from './new-job.tsx';
import { useCounts } from './use-counts.ts';
import { useOlderJobs } from './use-older.ts';

const idOf = (job: JobView): string => job.id;

export function JobList() {
  const t = useT();
  const [, go] = useLocation();
  const { text, setText } = useFilterText();
  const filter = useMemo(() => parseFilter(text), [text]);
  const live = useFleet(({ fleet }) => fleet.jobs);
  const isBusy = useFleet(({ fleet, stream }) => fleet.seq < 0 || stream.kind === 'loading');
  const older = useOlderJobs(filter);
  const newestFirst = useMemo(createNewestFirst, []);
  const all = useMemo(() => newestFirst(withOlder(live, older.jobs)), [newestFirst, live, older.jobs]);
  const { counts, isPartial } = useCounts(all);
  const rows = useMemo(() => all.filter(matcherOf(filter)), [all, filter]);
  const { chosen, choose, toggle } = useChosen(all);
  const columns = useJobColumns(chosen, toggle);
  const nameOf = useCallback(
    (job: JobView) => t('jobs.rowName', { config: job.config_name, state: t(`state.${shownState(job)}`) }),
    [t],
  );
  return (
    <div className="page jobs-page">
      <div className="page-head">
        <h1>{t('nav.jobs')}</h1>
        <NewJob kind="primary" />
      </div>
      <Phases counts={counts} chosen={chosenState(filter)} onChoose={to => setText(withState(text, to))} />
      <div className="filter-row">
        <input
          type="search"
          aria-label={t('jobs.filter.label')}
          placeholder={t('jobs.filter.hint')}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <span className="muted" role="status">
          {t('jobs.shown', { count: rows.length })}
        </span>
      </div>
      <Allowed call={queueApi.cancel}>
        <BulkBar rows={rows} chosen={chosen} choose={choose} />
      </Allowed>
      <Table
        label={t('jobs.table')}
        columns={columns}
        rows={rows}
        idOf={idOf}
        nameOf={nameOf}
        onOpen={job => go(`/jobs/${job.id}`)}
        isBusy={isBusy}
        empty={isBusy ? null : <NoJobs isFiltered={text !== ''} onClear={() => setText('')} />}
      />
      {isPartial && older.canLoad && (
        <Button className="older" disabled={older.isLoading} onClick={() => void older.loadMore()}>
          {t(older.isLoading ? 'jobs.older.loading' : 'jobs.older')}
        </Button>
      )}
    </div>
  );
}

/** In the address, so that a filter can be sent to somebody. */
function useFilterText() {
  const [params, setParams] = useSearchParams();
  const setText = (to: string): void =>
    setParams(
      old => {
        const changed = new URLSearchParams(old);
        if (to === '') changed.delete('q');
        else changed.set('q', to);
        return changed;
      },
      { replace: true },
    );
  return { text: params.get('q') ?? '', setText };
}

/** What is gone is no longer chosen. */
function useChosen(all: readonly JobView[]) {
  const [ids, choose] = useState<ReadonlySet<JobId>>(() => new Set());
  const toggle = useCallback(
    (id: JobId) => choose(was => (was.has(id) ? without(was, id) : new Set([...was, id]))),
    [],
  );
  const chosen = useMemo(() => {
    if (ids.size === 0) return ids;
    const there = all.flatMap(({ id }) => (ids.has(id) ? id : []));
    return there.length === ids.size ? ids : new Set(there);
  }, [all, ids]);
  return { chosen, choose, toggle };
}

const without = (ids: ReadonlySet<JobId>, gone: JobId): ReadonlySet<JobId> =>
  new Set([...ids].filter(id => id !== gone));

interface PhasesProps {
  readonly counts: PhaseCounts;
  readonly chosen: Phase | null;
  readonly onChoose: (phase: Phase | null) => void;
}

function Phases({ counts, chosen, onChoose }: PhasesProps) {
  const t = useT();
  const chips = phases.map(id => ({ id, text: t(`state.${id}`), count: counts[id] }));
  return <FilterChips label={t('jobs.phases')} chips={chips} chosen={chosen} onChoose={onChoose} />;
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
