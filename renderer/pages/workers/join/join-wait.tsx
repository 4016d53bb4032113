import { useState } from 'react';
import { shownName } from '../../../../protocol/job-about.ts';
import type { WorkerId, JobId } from '../../../../protocol/ids.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { useFleet, useMay, usePanel } from '../../../app/context.ts';
import { type Translator, useT } from '../../../i18n/index.ts';
import { Icon } from '../../../ui/icon.tsx';
import { useNow } from '../../../ui/time.tsx';
import { type Joining, reachCommand } from './join-commands.ts';
import { gpusText } from '../texts.ts';
import { Link } from 'wouter';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { Button } from '../../../ui/button.tsx';
import { Progress, State } from '../../../ui/indicators.tsx';
import { showFailure } from '../../../ui/toast.tsx';
import { identifyingLabels } from '../facts.ts';

/**
 * Progress of a new worker. `listening`: the worker has not registered yet. `greeted`: the worker has registered.
 * `connected`: the worker has also opened its event stream. `gone`: the worker has disconnected.
 */
type JoinPhase = 'listening' | 'greeted' | 'connected' | 'gone';

/** Returns the progress of a worker. `worker` is undefined until the event about its creation has arrived. */
export function joinPhase(worker: WorkerView | undefined): JoinPhase {
  if (worker === undefined || worker.registered_at === null) return 'listening';
  if (worker.status === 'offline') return 'gone';
  return worker.status === 'connecting' ? 'greeted' : 'connected';
}

interface JoinWaitProps {
  readonly id: WorkerId;
  readonly joining: Joining;
}

const checklistDelayMs = 60_000;

/** Shows the progress of a join, a checklist after a minute of waiting, and a self-test for the connected worker. */
export function JoinWait({ id, joining }: JoinWaitProps) {
  const t = useT();
  const worker = useFleet(state => state.fleet.workers.get(id));
  const [since] = useState(Date.now);
  const now = useNow(1_000);
  const phase = joinPhase(worker);
  const icon = {
    listening: 'connecting',
    greeted: 'connecting',
    connected: 'completed',
    gone: 'offline',
  } as const;
  return (
    <section className="worker-join-wait" data-phase={phase}>
      <p role="status" className="worker-join-phase">
        <Icon name={icon[phase]} />
        {phaseText(t, joining.name, worker)}
      </p>
      {phase === 'listening' && now - since >= checklistDelayMs && <Checklist joining={joining} />}
      {phase === 'connected' && worker !== undefined && <TestJob worker={worker} />}
    </section>
  );
}

function phaseText(t: Translator, name: string, worker: WorkerView | undefined): string {
  const phase = joinPhase(worker);
  if (phase === 'listening' || worker === undefined) return t('workers.wait.listening', { name });
  if (phase === 'greeted') return t('workers.wait.greeted', { name, host: worker.host ?? name });
  if (phase === 'gone') return t('workers.wait.gone', { name });
  const gpus = gpusText(t, worker);
  return worker.host === null || worker.host === name
    ? t('workers.wait.connected', { gpus })
    : t('workers.wait.connectedFrom', { host: worker.host, gpus });
}

function Checklist({ joining }: { readonly joining: Joining }) {
  const t = useT();
  const { port, protocol } = new URL(joining.url);
  return (
    <div>
      <p>{t('workers.wait.try')}</p>
      <ol className="worker-checklist">
        {typeof joining.script !== 'string' && (
          <li>
            {t('workers.wait.try.agent')} <code className="mono">trainyard --version</code>
          </li>
        )}
        <li>
          {t('workers.wait.try.reach')} <code className="mono">{reachCommand(joining)}</code>
        </li>
        <li>{t('workers.wait.try.firewall', { port: port || (protocol === 'https:' ? '443' : '80') })}</li>
        <li>{t('workers.wait.try.token')}</li>
      </ol>
    </div>
  );
}

interface TestJobProps {
  readonly worker: WorkerView;
}

/**
 * Offers to run a self-test on the new worker. Every Trainyard agent supports self-tests unless its owner forbids them
 * (docs/workers.md); SimpleTuner's worker does not. The test requires labels that no other worker has, because a job
 * selects workers only by labels.
 */
function TestJob({ worker }: TestJobProps) {
  const t = useT();
  const { client } = usePanel();
  const may = useMay();
  const workers = useFleet(state => state.fleet.workers);
  const [sent, setSent] = useState<JobId | 'sending' | null>(null);
  const labels = identifyingLabels(worker, workers.values());
  const send = async (): Promise<void> => {
    if (labels === null) return;
    setSent('sending');
    const config = { trainer: 'selftest' };
    const answer = await client.call(queueApi.submit, {
      body: { config_name: 'selftest', config, worker_labels: labels, max_retries: 0 },
    });
    setSent(answer.ok ? answer.value.job_id : null);
    if (!answer.ok) showFailure(t, answer.failure);
  };
  // The user must also be allowed to read jobs, because this component shows the result.
  if (worker.protocol < 2 || !may(queueApi.submit) || !may(queueApi.get)) return null;
  if (sent !== null && sent !== 'sending') return <SentJob id={sent} />;
  if (labels === null) return <p className="muted">{t('workers.test.shared')}</p>;
  return (
    <div className="worker-test">
      <Button onClick={() => void send()} disabled={sent === 'sending'}>
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
          label={t('workers.job.of', { name: job === undefined ? id : shownName(job) })}
          percent={percent}
          text={percent === null ? t('time.none') : t('workers.percent', { value: Math.round(percent) })}
        />
      </span>
      <Link href={`/jobs/${id}`}>{t('workers.test.open')}</Link>
      {why !== null && <span className="muted">{why}</span>}
    </div>
  );
}
