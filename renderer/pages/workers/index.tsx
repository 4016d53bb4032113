import { useParams, useLocation, useSearch, useSearchParams } from 'wouter';
import { useFleet } from '../../app/context.ts';
import { useFreshWorkers } from '../../app/fresh-workers.ts';
import { FleetTexts, useFleetTexts } from '../../app/fleet-texts.ts';
import { ActionDialogs } from './dialogs/action-dialogs.tsx';
import { WorkerDetail } from './details/detail.tsx';
import './workers.css';
import { useCallback, useMemo, useState } from 'react';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { WorkerId } from '../../../protocol/ids.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { Allowed } from '../../app/guarded.tsx';
import { Button } from '../../ui/button.tsx';
import { Table } from '../../ui/table.tsx';
import { useRemembered } from '../../state/remembered.ts';
import { FleetMap } from '../overview/fleet/map.tsx';
import { useMappedWorkers } from '../overview/fleet/use-cells.ts';
import { useStartAction } from './actions.ts';
import { BulkBar } from './bulk-bar.tsx';
import { ColumnMenu } from './column-menu.tsx';
import { parseColumns, visibleColumns } from './column-choice.ts';
import { useColumns } from './columns.tsx';
import { EmptyFleet, NoMatches } from './join/empty-list.tsx';
import { FilterBar, parseQuery } from './filter.tsx';
import { SelectionProvider } from './selection.tsx';
import { rowName } from './texts.ts';
import { ServerVersionProvider, useServerVersion } from './server-version.ts';

export function WorkersPage() {
  const { id } = useParams<{ readonly id?: string }>();
  useFreshWorkers();
  return (
    <FleetTexts>
      <ActionDialogs>{id === undefined ? <WorkerList /> : <WorkerDetail id={id} />}</ActionDialogs>
    </FleetTexts>
  );
}

const parseShown = (stored: unknown): boolean => stored !== false;

const idOf = ({ id }: WorkerView): string => id;

function WorkerList() {
  const t = useFleetTexts();
  const start = useStartAction();
  const [, navigate] = useLocation();
  const search = useSearch();
  const byId = useFleet(state => state.fleet.workers);
  const isRead = useFleet(state => state.fleet.seq >= 0);
  const [filter, setFilter] = useFilter();
  const query = useMemo(() => parseQuery(filter), [filter]);
  const rows = useMemo(() => [...byId.values()].filter(query.fits), [byId, query]);
  const { selection, chosen, choose } = useChosen(byId);
  const [columnIds, chooseColumns] = useRemembered('workerColumns', parseColumns);
  const allColumns = useColumns();
  const columns = useMemo(() => visibleColumns(allColumns, columnIds), [allColumns, columnIds]);
  const [isMapShown, showMap] = useRemembered('workerMap', parseShown);
  const mapped = useMappedWorkers(rows, t.language);
  const nameOf = useCallback((worker: WorkerView) => rowName(t, worker), [t]);
  const version = useServerVersion();
  if (!isRead)
    return (
      <div className="page workers" aria-busy="true">
        <h1>{t('workers.title')}</h1>
        <p className="muted">{t('workers.loading')}</p>
      </div>
    );
  if (byId.size === 0)
    return (
      <div className="page workers">
        <h1>{t('workers.title')}</h1>
        <section className="card">
          <EmptyFleet />
        </section>
      </div>
    );
  return (
    <div className="page workers workers-list">
      <header className="page-head">
        <h1>{t('workers.title')}</h1>
        <div className="worker-acts">
          {mapped.length > 0 && (
            <Button onClick={() => showMap(!isMapShown)}>
              {t(isMapShown ? 'tools.map.hide' : 'tools.map.show')}
            </Button>
          )}
          <ColumnMenu columns={allColumns} chosen={columnIds} onChoose={chooseColumns} />
          <Allowed call={workersApi.create}>
            <Button kind="primary" onClick={() => start({ kind: 'join' })}>
              {t('workers.join')}
            </Button>
          </Allowed>
        </div>
      </header>
      <FilterBar text={filter} query={query} onChange={setFilter} shown={rows.length} />
      {isMapShown && mapped.length > 0 && <FleetMap workers={mapped} selection={selection} />}
      <ServerVersionProvider value={version}>
        {chosen.length > 0 && <BulkBar chosen={chosen} shown={rows} onChoose={choose} />}
        <SelectionProvider value={selection}>
          <Table
            label={t('workers.title')}
            columns={columns}
            rows={rows}
            idOf={idOf}
            nameOf={nameOf}
            onOpen={({ id }) => navigate(`/workers/${id}${search === '' ? '' : `?${search}`}`)}
            empty={<NoMatches onClear={() => setFilter('')} />}
          />
        </SelectionProvider>
      </ServerVersionProvider>
    </div>
  );
}

/** Keeps the filter in the URL, so that a link shows the same workers. */
function useFilter(): readonly [string, (text: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = (text: string): void =>
    // Replace the history entry, so that typing does not add one entry per letter.
    setParams(text === '' ? {} : { q: text }, { replace: true });
  return [params.get('q') ?? '', set];
}

/** Manages the selected workers. `chosen` omits workers that no longer exist. */
function useChosen(byId: ReadonlyMap<WorkerId, WorkerView>) {
  const [ids, setIds] = useState<ReadonlySet<WorkerId>>(new Set());
  const selection = useMemo(
    () => ({
      chosen: ids,
      toggle: (id: WorkerId) =>
        setIds(was => (was.has(id) ? new Set([...was].filter(each => each !== id)) : new Set([...was, id]))),
    }),
    [ids],
  );
  const chosen = useMemo(() => [...ids].flatMap(id => byId.get(id) ?? []), [ids, byId]);
  const choose = (workers: readonly WorkerView[]): void => setIds(new Set(workers.map(({ id }) => id)));
  return { selection, chosen, choose };
}
