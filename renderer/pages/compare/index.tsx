import { useMemo } from 'react';
import { Link, useSearchParams } from 'wouter';
import { queueApi } from '../../../protocol/queue-api.ts';
import { detailOf } from '../../api/session.ts';
import { useMay } from '../../app/context.ts';
import { useDelayedValue } from '../../app/use-event-reads.ts';
import { Empty } from '../../ui/empty.tsx';
import './compare.css';
import { RunCurves } from './curves.tsx';
import { Parallel } from './parallel.tsx';
import { Results } from './results.tsx';
import { onlyDifference, type Run, variedKeys, whyNoneDiffers } from './runs.ts';
import { RunSamples } from './samples.tsx';
import { RunTexts, useRunT } from './texts.tsx';
import { maxRuns, parseSelection, type Selection, useLiveRuns, useRuns } from './use-runs.ts';

/** Compares the jobs of `/compare?jobs=a,b` or `/compare?group=name`. */
export const ComparePage = () => (
  <RunTexts>
    <Page />
  </RunTexts>
);

function Page() {
  const t = useRunT();
  const [params] = useSearchParams();
  const selection = parseSelection(params);
  return (
    <div className="page jobs-page">
      <nav className="crumb" aria-label={t('runs.back')}>
        <Link href="/jobs">{t('runs.back')}</Link>
      </nav>
      <div className="page-head">
        <h1>
          {selection.kind === 'group' ? t('runs.ofGroup', { group: selection.group }) : t('runs.title')}
        </h1>
      </div>
      {selection.kind === 'jobs' && selection.ids.length === 0 ? (
        <Empty why={t('runs.none')} />
      ) : (
        <Comparison selection={selection} />
      )}
    </div>
  );
}

function Comparison({ selection }: { readonly selection: Selection }) {
  const t = useRunT();
  const { runs, missing, failure } = useRuns(selection);
  if (failure !== null && runs === null)
    return <Empty why={t('runs.failed', { why: detailOf(failure) ?? t('error.unreachable') })} />;
  if (runs === null) return <div aria-busy="true" />;
  return (
    <>
      {missing > 0 && (
        <p className="muted" role="status">
          {t('runs.missing', { count: missing })}
        </p>
      )}
      {runs.length === 0 ? <Empty why={t('runs.noneInGroup')} /> : <Runs runs={runs} />}
    </>
  );
}

/** Minimum number of varied keys for the parallel coordinates. With fewer keys, the chart adds nothing to the table. */
const minParallelKeys = 3;
/** Minimum time between two reads of the curves while the jobs advance. */
const curvesEveryMs = 10_000;

function Runs({ runs: read }: { readonly runs: readonly Run[] }) {
  const t = useRunT();
  const may = useMay();
  const runs = useLiveRuns(read);
  const runsOfCurves = useDelayedValue(runs, curvesEveryMs);
  const varied = useMemo(() => variedKeys(runs), [runs]);
  const ids = runs.slice(0, maxRuns).map(({ job }) => job.id);
  const isSweep = runs.every(({ job }) => job.sweep !== null);
  const whyNone = whyNoneDiffers(runs, varied, job => may(queueApi.config, job));
  const only = onlyDifference(runs, varied);
  return (
    <>
      {whyNone !== null && <p className="muted">{t(`runs.${whyNone}`)}</p>}
      {only !== null && <p className="compare-lead">{t('runs.only', { key: only })}</p>}
      <Results runs={runs} varied={varied} />
      {isSweep && varied.keys.length >= minParallelKeys && <Parallel runs={runs} varied={varied} />}
      <RunSamples runs={runs} />
      <section aria-labelledby="compare-curves" className="compare-curves">
        <h2 id="compare-curves">
          {runs.length > maxRuns ? t('runs.firstCurves', { count: maxRuns }) : t('runs.curves')}
        </h2>
        <RunCurves ids={ids} runs={runsOfCurves} />
      </section>
    </>
  );
}
