import { useState } from 'react';
import { Link } from 'wouter';
import type { JobId } from '../../../protocol/ids.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { useFleet, useMay, usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Progress } from '../../ui/progress.tsx';
import { State } from '../../ui/state.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { labelsThatBind } from './facts.ts';

interface TestJobProps {
  readonly worker: WorkerView;
}

/**
 * Submits a self-test, which every Trainyard agent supports unless its owner forbids it (docs/workers.md). SimpleTuner's worker does not. A
 * job cannot name its worker, so the test is offered only when labels select this worker alone.
 */
export function TestJob({ worker }: TestJobProps) {
  const t = useT();
  const { client } = usePanel();
  const may = useMay();
  const workers = useFleet(state => state.fleet.workers);
  const [sent, setSent] = useState<JobId | 'asking' | null>(null);
  const labels = labelsThatBind(worker, workers.values());
  const send = async (): Promise<void> => {
    if (labels === null) return;
    setSent('asking');
    const config = { trainer: 'selftest' };
    const answer = await client.call(queueApi.submit, {
      body: { config_name: 'selftest', config, worker_labels: labels, max_retries: 0 },
    });
    setSent(answer.ok ? answer.value.job_id : null);
    if (!answer.ok) showFailure(t, answer.failure);
  };
  // The result is shown here too, so the user must be allowed to read jobs.
  if (worker.protocol < 2 || !may(queueApi.submit) || !may(queueApi.get)) return null;
  if (sent !== null && sent !== 'asking') return <SentJob id={sent} />;
  if (labels === null) return <p className="muted">{t('workers.test.shared')}</p>;
  return (
    <div className="worker-test">
      <Button onClick={() => void send()} disabled={sent === 'asking'}>
        {t('workers.test.send')}
      </Button>
      <span className="muted">{t('workers.test.explain')}</span>
    </div>
  );
}

function SentJob({ id }: { readonly id: JobId }) {
  const t = useT();
  const job = useFleet(state => state.fleet.jobs.get(id));
  const percent = job?.status === 'completed' ? 100 : (job?.progress?.percent ?? null);
  const why = job?.error_message ?? job?.reason ?? null;
  return (
    <div className="worker-test" aria-live="polite">
      <span>{t('workers.test.job')}</span>
      {job !== undefined && <State name={job.status} />}
      <span className="worker-test-bar">
        <Progress
          label={t('workers.job.of', { name: job?.config_name ?? id })}
          percent={percent}
          text={percent === null ? t('time.none') : t('workers.percent', { value: Math.round(percent) })}
        />
      </span>
      <Link href={`/jobs/${id}`}>{t('workers.test.open')}</Link>
      {why !== null && <span className="muted">{why}</span>}
    </div>
  );
}
