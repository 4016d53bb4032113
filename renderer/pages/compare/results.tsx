import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import { shownName } from '../../../protocol/job-about.ts';
import type { JobView } from '../../../protocol/job.ts';
import { Icon } from '../../ui/icon.tsx';
import { State } from '../../ui/indicators.tsx';
import { useNow } from '../../ui/time.tsx';
import { formatUsage } from '../overview/usage/format.ts';
import { BestLoss } from '../jobs/best-loss.tsx';
import { bestLossOf, lowestLoss } from '../jobs/best.ts';
import { duration, figure, runTime } from '../jobs/figures.ts';
import { shownState } from '../jobs/list/filter.ts';
import { type Run, sortedByBestLoss, textOfValue, type Varied } from './runs.ts';
import { type RunTranslator, useRunT } from './texts.tsx';

interface ResultsProps {
  readonly runs: readonly Run[];
  readonly varied: Varied;
}

/** One row per job: the values that differ, and its result. The header of the best-loss column toggles the sorting. */
export function Results({ runs, varied: { keys, valueOf } }: ResultsProps) {
  const t = useRunT();
  const now = useNow();
  const [isByLoss, setByLoss] = useState(false);
  const shown = useMemo(() => (isByLoss ? sortedByBestLoss(runs) : runs), [isByLoss, runs]);
  const hasCost = runs.some(({ usage }) => typeof usage?.cost === 'number');
  const best = lowestLoss(runs.map(({ job }) => job));
  return (
    <section className="card" aria-labelledby="compare-results">
      <h2 id="compare-results">{t('runs.table')}</h2>
      <div className="compare-table" role="group" aria-label={t('runs.table')} tabIndex={0}>
        <table className="events">
          <thead>
            <tr>
              <th scope="col">{t('runs.column.name')}</th>
              <th scope="col">{t('runs.column.state')}</th>
              <th
                scope="col"
                className="compare-number"
                title={t('jobs.bestLoss.what')}
                aria-sort={isByLoss ? 'ascending' : 'none'}
              >
                <button type="button" className="table-sort" onClick={() => setByLoss(was => !was)}>
                  {t('runs.column.bestLoss')}
                  {isByLoss && <Icon name="up" />}
                </button>
              </th>
              {keys.map(key => (
                <th key={key} scope="col" translate="no" className="compare-key">
                  {key}
                </th>
              ))}
              {(['step', 'loss', 'ran', 'gpuHours'] as const).map(name => (
                <th key={name} scope="col" className="compare-number">
                  {t(`runs.column.${name}`)}
                </th>
              ))}
              {hasCost && (
                <th scope="col" className="compare-number">
                  {t('runs.column.cost')}
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {shown.map(run => (
              <tr key={run.job.id} data-best={run.job.id === best}>
                <th scope="row" className="compare-name">
                  <Link href={`/jobs/${run.job.id}`} translate="no">
                    {shownName(run.job)}
                  </Link>
                  {run.job.id === best && <span className="chip">{t('runs.best')}</span>}
                </th>
                <td>
                  <State name={shownState(run.job)} />
                </td>
                <td className="compare-number">
                  {bestLossOf(run.job.progress) === null ? '–' : <BestLoss job={run.job} showsKind />}
                </td>
                {keys.map(key => (
                  <td key={key} className="mono" translate="no">
                    {textOfValue(valueOf(run, key))}
                  </td>
                ))}
                {numbersOf(run.job, now, t).map(([name, text]) => (
                  <td key={name} className="compare-number">
                    {text}
                  </td>
                ))}
                {hasCost && <td className="compare-number">{costText(run, t)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const costText = ({ usage }: Run, t: RunTranslator): string =>
  typeof usage?.cost === 'number' ? formatUsage(t, 'cost', usage.cost, usage.currency) : '–';

function numbersOf(job: JobView, now: number, t: RunTranslator): readonly (readonly [string, string])[] {
  const { step, loss } = job.progress ?? {};
  const ran = runTime(job, now);
  const hours =
    ran === null || job.gpu_count === 0
      ? null
      : Math.round((ran / 3.6) * job.gpu_count * job.num_nodes) / 1_000;
  return [
    ['step', step === undefined ? '–' : step.toLocaleString(t.language)],
    ['loss', loss === undefined ? '–' : figure(loss, t.language)],
    ['ran', ran === null ? '–' : duration(ran, t.language)],
    ['hours', hours === null ? '–' : formatUsage(t, 'gpu_hours', hours, null)],
  ];
}
