import { type KeyboardEvent, useState } from 'react';
import { shownName } from '../../../protocol/job-about.ts';
import { poolsApi } from '../../../protocol/pools-api.ts';
import type { LaunchView } from '../../../protocol/pool.ts';
import { useFleet, usePanel } from '../../app/context.ts';
import { JobLink, WorkerLink } from '../../app/links.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Time, useNow } from '../../ui/time.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { duration } from '../jobs/figures.ts';
import { iconOf, isOpen, isTroubled, type Phase, phasesOf, weightOf } from './launch-facts.ts';
import { type PoolTranslator, usePoolT } from './texts.tsx';

interface LaunchesProps {
  readonly launches: readonly LaunchView[];
  /** Element id of the heading. */
  readonly labelledBy: string;
}

export function Launches({ launches, labelledBy }: LaunchesProps) {
  const t = usePoolT();
  const { client } = usePanel();
  const [ending, setEnding] = useState<LaunchView | null>(null);
  const end = (launch: LaunchView): void =>
    void client
      .call(poolsApi.endLaunch, { params: { id: launch.launch_id } })
      .then(answer => !answer.ok && showFailure(t, answer.failure));
  return (
    <>
      <ul className="launches" aria-labelledby={labelledBy} onKeyDown={moveFocus}>
        {launches.map((launch, index) => (
          <Launch key={launch.launch_id} launch={launch} index={index} onEnd={() => setEnding(launch)} />
        ))}
      </ul>
      {ending !== null && (
        <Confirm
          title={t('pools.end.title', { name: ending.worker_name })}
          consequence={t('pools.end.consequence')}
          act={t('pools.end.act')}
          onConfirm={() => end(ending)}
          onClose={() => setEnding(null)}
        />
      )}
    </>
  );
}

/** Moves the focus to the next or previous launch on the page, also between pools. Uses the same keys as tables. */
function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  const rows = [...document.querySelectorAll<HTMLElement>('#content .launch')];
  const at = rows.findIndex(row => row.contains(document.activeElement));
  if (step === undefined || at === -1) return;
  event.preventDefault();
  rows[at + step]?.focus();
}

export function launchStateText(launch: LaunchView, t: PoolTranslator): string {
  return launch.outcome === null
    ? t(`pools.launch.state.${launch.state}`)
    : t(`pools.outcome.${launch.outcome}`);
}

interface LaunchProps {
  readonly launch: LaunchView;
  readonly index: number;
  readonly onEnd: () => void;
}

function Launch({ launch, index, onEnd }: LaunchProps) {
  const t = usePoolT();
  const state = launchStateText(launch, t);
  const { worker_name: name, outcome } = launch;
  return (
    <li
      className="launch"
      data-row={index}
      tabIndex={-1}
      aria-label={t('pools.launch.name', { name, state })}
      data-open={isOpen(launch)}
    >
      <div className="launch-head">
        <span className="state" data-state={iconOf(launch)}>
          <Icon name={iconOf(launch)} />
          {state}
        </span>
        <WorkerName launch={launch} />
        <Purpose launch={launch} />
        {isOpen(launch) && launch.state !== 'ending' && (
          <Button className="launch-end" aria-label={t('pools.end.of', { name })} onClick={onEnd}>
            {t('pools.end.button')}
          </Button>
        )}
      </div>
      <PhaseStrip launch={launch} />
      <WaitingReason launch={launch} />
      {launch.detail !== null && launch.reason === null && (
        <p className={isTroubled({ outcome }) ? 'trouble' : 'muted'}>{launch.detail}</p>
      )}
      <LaunchFacts launch={launch} />
    </li>
  );
}

/** Links to the worker only while it exists: after it has joined, and before the launch has ended. */
function WorkerName({ launch }: { readonly launch: LaunchView }) {
  const { worker_id: id, worker_name: name, joined_at: joined } = launch;
  if (!isOpen(launch) || joined === null) return <strong translate="no">{name}</strong>;
  return (
    <strong translate="no">
      <WorkerLink id={id}>{name}</WorkerLink>
    </strong>
  );
}

/** The purpose of the launch: a test, a job, or a warm worker. */
function Purpose({ launch: { job_id: id, is_test: isTest } }: { readonly launch: LaunchView }) {
  const t = usePoolT();
  const job = useFleet(({ fleet }) => (id === null ? undefined : fleet.jobs.get(id)));
  if (isTest) return <span className="chip">{t('pools.launch.test')}</span>;
  if (id === null) return <span className="chip">{t('pools.launch.warm')}</span>;
  return (
    <span>
      {t('pools.launch.job')} <JobLink id={id}>{job === undefined ? id : shownName(job)}</JobLink>
    </span>
  );
}

function LaunchFacts({ launch }: { readonly launch: LaunchView }) {
  const t = usePoolT();
  const { nodes, gpus, engine_id: engineId, machines, gpu_seconds: seconds, ends_at: endsAt } = launch;
  return (
    <ul className="launch-facts muted">
      <li>{t('pools.launch.machines', { count: nodes })}</li>
      <li>{t('pools.launch.gpus', { count: nodes * gpus })}</li>
      {machines.length > 0 && <li className="mono">{machines.join(', ')}</li>}
      {engineId !== null && (
        <li>
          {t('pools.launch.engineId')} <code>{engineId}</code>
        </li>
      )}
      {seconds > 0 && <li>{t('pools.launch.gpuTime', { time: duration(seconds, t.language) })}</li>}
      {isOpen(launch) && endsAt !== null && (
        <li>
          {t('pools.launch.wallTime')} <Time at={endsAt} />
        </li>
      )}
    </ul>
  );
}

/** Shows why a launch waits, in the language of the panel and in the words of the engine. */
function WaitingReason({ launch: { reason, expected_start: start } }: { readonly launch: LaunchView }) {
  const t = usePoolT();
  if (reason === null && start === null) return null;
  return (
    <p>
      {reason !== null && (
        <>
          {t(`pools.reason.${reason.kind}`)} <span className="muted">({reason.text})</span>{' '}
        </>
      )}
      {start !== null && (
        <span className="launch-start">
          {t('pools.launch.expected')} <Time at={start} />
        </span>
      )}
    </p>
  );
}

/** Returns the server's time in ms since 1970. Updates every second while the launch runs, otherwise every minute. */
function useServerNow(isRunning: boolean): number {
  const lead = useFleet(state => state.clockLeadMs);
  return useNow(isRunning ? 1_000 : 60_000) + lead;
}

/** Draws the phases of a launch as a strip, with widths by duration. */
export function PhaseStrip({ launch }: { readonly launch: LaunchView }) {
  const t = usePoolT();
  const phases = phasesOf(launch, useServerNow(isOpen(launch)));
  return (
    <ol className="phases" aria-label={t('pools.phases')}>
      {phases.map(phase => (
        <li
          key={phase.name}
          className="phase"
          data-phase={phase.state}
          style={{ flexGrow: weightOf(phase) }}
          aria-current={phase.state === 'now' ? 'step' : undefined}
        >
          <span className="phase-bar" />
          <span className="phase-name">{t(`pools.phase.${phase.name}`)}</span>
          <span className="phase-time">{phaseTime(phase, t)}</span>
        </li>
      ))}
    </ol>
  );
}

function phaseTime({ state, seconds }: Phase, t: PoolTranslator) {
  if (state === 'ahead' || seconds === null)
    return (
      <>
        <span aria-hidden="true">{t('time.none')}</span>
        <span className="unseen">{t('pools.phase.none')}</span>
      </>
    );
  return duration(seconds, t.language);
}
