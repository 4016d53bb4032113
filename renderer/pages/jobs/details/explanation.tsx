import { useEffect, useState } from 'react';
import type { Explanation, WorkerReason } from '../../../../protocol/explain.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { useFleet, usePanel } from '../../../app/context.ts';
import { PoolLink, WorkerLink } from '../../../app/links.tsx';
import { type Translator, useT, type MessageKey } from '../../../i18n/index.ts';
import { StartTime } from '../start-time.tsx';
import { waitText } from '../wait-text.ts';

/** Maximum number of workers to list. In a larger fleet, workers with fewer reasons not to take the job are preferred. */
const maxWorkers = 50;

interface ExplainedProps {
  readonly explanation: Explanation;
  /** True if the page already shows that no worker can take the job. */
  readonly isHeadline?: boolean;
}

/** Shows the estimated start, the reasons why a job is pending, the pools, and why each worker cannot take the job. */
function WaitingExplained({ explanation, isHeadline = false }: ExplainedProps) {
  const t = useT();
  const { reasons, workers, pools, unsatisfiable, predicted_start: start } = explanation;
  const isRequested = pools.some(({ launch_id: launch }) => launch !== null);
  const shown = workers.toSorted((a, b) => a.reasons.length - b.reasons.length).slice(0, maxWorkers);
  return (
    <div className="explained">
      {unsatisfiable && !isHeadline && !isRequested && (
        <p className="trouble">{t('jobs.explain.unsatisfiable')}</p>
      )}
      {start !== null && (
        <p>
          {t('jobs.explain.start')} <StartTime at={start.at} /> <span className="muted">({start.basis})</span>
        </p>
      )}
      {reasons.length > 1 && (
        <ul>
          {reasons.map(({ code, params, detail }) => (
            <li key={code}>{waitText({ code, params, workers: [] }, t) ?? detail}</li>
          ))}
        </ul>
      )}
      {pools.length > 0 && (
        <div>
          {t('nav.pools')}
          <ul className="explained-pools">
            {pools.map(({ pool_id: id, name, detail }) => (
              <li key={id}>
                <PoolLink id={id}>{name}</PoolLink>
                {': '}
                {detail}
              </li>
            ))}
          </ul>
        </div>
      )}
      {workers.length > 0 && (
        <details>
          <summary>{t('jobs.explain.workers', { count: workers.length })}</summary>
          <ul className="explained-workers">
            {shown.map(({ worker_id: id, name, fits, reasons: against, datasets }) => (
              <li key={id}>
                <WorkerLink id={id}>{name}</WorkerLink>{' '}
                {[
                  ...(fits ? [t('jobs.explain.fits')] : checkTexts(against, t)),
                  ...dataText(datasets, t),
                ].join('; ')}
              </li>
            ))}
          </ul>
          {workers.length > shown.length && (
            <p className="muted">{t('jobs.explain.more', { count: workers.length - shown.length })}</p>
          )}
        </details>
      )}
    </div>
  );
}

/** Describes how much of the job's data a worker has. Returns an empty list for a job without data. */
export function dataText(
  datasets: Explanation['workers'][number]['datasets'],
  t: Translator,
): readonly string[] {
  if (datasets === null) return [];
  const { here, wanted } = datasets;
  if (here === wanted) return [t('jobs.explain.hasData')];
  return [here === 0 ? t('jobs.explain.fetchesData') : t('jobs.explain.hasSomeData', { here, wanted })];
}

/** Loads the explanation of a pending job, and loads it again whenever the job changes. */
export function ExplainJob({ job }: { readonly job: JobView }) {
  const { client } = usePanel();
  const isPaused = useFleet(({ fleet }) => (fleet.queue?.paused ?? null) !== null);
  const [explanation, setExplanation] = useState<Explanation | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    void client.call(queueApi.explain, { params: { id: job.id }, signal: controller.signal }).then(answer => {
      // Ignore failures, because the page already shows the main reason.
      if (answer.ok && !controller.signal.aborted) setExplanation(answer.value);
    });
    return () => controller.abort();
  }, [client, job]);
  if (explanation === null) return null;
  return <WaitingExplained explanation={explanation} isHeadline={!isPaused && job.wait?.code === 'unmet'} />;
}

const keys = {
  never_registered: 'jobs.check.neverRegistered',
  draining: 'jobs.check.draining',
  busy: 'jobs.check.busy',
  settling: 'jobs.check.settling',
  no_stream: 'jobs.check.noStream',
  leaving: 'jobs.check.leaving',
  closed: 'jobs.check.closed',
  updating: 'jobs.check.updating',
  quarantined: 'jobs.check.quarantined',
  gpu_trouble: 'jobs.check.gpuTrouble',
  local_limit: 'jobs.check.localLimit',
  nodes: 'jobs.check.nodes',
  gpu_count: 'jobs.check.gpuCount',
  gpu_limit: 'jobs.check.gpuLimit',
  vram: 'jobs.check.vram',
  accelerator: 'jobs.check.accelerator',
  guard: 'jobs.check.guard',
  config_key: 'jobs.check.configKey',
  data: 'jobs.check.data',
  inputs: 'jobs.check.inputs',
  trainer: 'jobs.check.trainer',
  label: 'jobs.check.label',
  avoid_previous: 'jobs.check.avoidPrevious',
} as const satisfies Readonly<Partial<Record<WorkerReason['code'], MessageKey>>>;

/** Returns the translated reasons why a worker cannot take a job. Omits the missing event stream of an offline worker. */
export function checkTexts(reasons: readonly WorkerReason[], t: Translator): readonly string[] {
  const isOffline = reasons.some(({ code }) => code === 'offline');
  return reasons.filter(({ code }) => !isOffline || code !== 'no_stream').map(reason => checkText(reason, t));
}

function checkText({ code, wanted, there }: WorkerReason, t: Translator): string {
  if (code === 'offline') return t(there === 'goodbye' ? 'jobs.check.signedOff' : 'jobs.check.silent');
  if (code === 'target') return t(wanted === 'this machine' ? 'jobs.check.onlyHere' : 'jobs.check.notHere');
  if (code === 'draining' && there !== null) return t('jobs.check.drainingFor', { reason: there });
  return t(keys[code], { wanted: wanted ?? '', there: there ?? '' });
}
