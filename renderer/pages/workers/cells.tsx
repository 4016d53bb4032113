import { Link } from 'wouter';
import { shownName } from '../../../protocol/job-about.ts';
import type { JobView } from '../../../protocol/job.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { useFleet } from '../../app/context.ts';
import { JobLink } from '../../app/links.tsx';
import { type Translator, useT } from '../../i18n/index.ts';
import { keptMs, type LoadSample } from '../../state/sparklines.ts';
import { Progress, Sparkline, State } from '../../ui/indicators.tsx';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { ShortName } from '../../ui/short-name.tsx';
import { Time, useNow } from '../../ui/time.tsx';
import { duration, roundEstimate } from '../jobs/figures.ts';
import { contactLevel, shownState, vramTotal } from './facts.ts';
import { figure, gpusText, lostText, reasonText, troubleTexts } from './texts.ts';
import { compareAgentVersion, useProvidedServerVersion } from './server-version.ts';

interface CellProps {
  readonly worker: WorkerView;
}

/** A further state of a worker, next to its main state. */
interface Tag {
  readonly text: string;
  readonly title: string;
  readonly icon: IconName | null;
}

/** Shows the state of a worker. The column has room for one tag; a number with a tooltip stands for all other tags. */
export function StateCell({ worker }: CellProps) {
  const t = useT();
  const reason = reasonText(t, worker);
  // Show the deadline of a drain only while the worker still has a job.
  const deadline = worker.current_job_id === null ? null : (worker.drain?.deadline ?? null);
  const lost = useLostText(worker);
  const [tag, ...others] = tagsOf(t, worker, lost);
  return (
    <span className="worker-two-lines">
      <span title={troubleTexts(t, worker).join('\n') || undefined}>
        <State name={shownState(worker)} />
      </span>
      <span className="muted worker-small worker-tags">
        {tag !== undefined && <TagView {...tag} />}
        {others.length > 0 && (
          <span className="worker-tag-more" title={others.map(({ title }) => title).join('\n')}>
            +{others.length}
          </span>
        )}
        {deadline !== null && (
          <span className="worker-deadline" title={t('workers.drain.deadline')}>
            <Time at={deadline} />
          </span>
        )}
        {reason !== null && <span title={reason}>{reason}</span>}
      </span>
    </span>
  );
}

const TagView = ({ text, title, icon }: Tag) => (
  <span className={icon === null ? 'worker-tag' : 'worker-tag worker-tag-warn'} title={title}>
    {icon !== null && <Icon name={icon} />}
    <span>{text}</span>
  </span>
);

/** Returns the tags of a worker, most urgent first. */
function tagsOf(t: Translator, worker: WorkerView, lost: string | null): readonly Tag[] {
  const { duplicate, gpu_troubles: troubles, update } = worker;
  const hasTrouble = troubles.length > 0 && shownState(worker) !== 'trouble';
  const state = update?.order?.state ?? (update?.available === true ? 'available' : null);
  const isBad = state === 'failed' || state === 'stopped';
  const ofUpdate = state === null ? null : t(`workers.update.${state}`);
  const trouble = t('state.trouble');
  const isDuplicate = t('workers.duplicate');
  return [
    ...(lost === null ? [] : [{ text: lost, title: lost, icon: 'stale' } as const]),
    ...(hasTrouble
      ? [{ text: trouble, title: troubleTexts(t, worker).join('\n'), icon: 'trouble' } as const]
      : []),
    ...(duplicate === null ? [] : [{ text: isDuplicate, title: isDuplicate, icon: 'recovering' } as const]),
    ...(ofUpdate === null
      ? []
      : [
          {
            text: ofUpdate,
            title: update?.order?.reason ?? ofUpdate,
            icon: isBad ? 'trouble' : null,
          } as const,
        ]),
  ];
}

/** Returns a text with the time since the connection was lost; null while the worker is connected or offline. */
function useLostText(worker: WorkerView): string | null {
  const t = useT();
  const leadMs = useFleet(({ clockLeadMs }) => clockLeadMs);
  const now = useNow(worker.stream_closed_at === null ? 60_000 : 1_000);
  return lostText(t, worker, now + leadMs);
}

/**
 * Shows that the connection to a worker is lost, until the worker reconnects or goes offline. The tag is necessary,
 * because the status of the worker does not change before the worker goes offline.
 */
export function LostTag({ worker }: CellProps) {
  const text = useLostText(worker);
  return text !== null && <TagView text={text} title={text} icon="stale" />;
}

export function NameCell({ worker }: CellProps) {
  const t = useT();
  return (
    <span className="worker-two-lines">
      <Link className="worker-name" href={`/workers/${worker.id}`} title={worker.name}>
        {worker.name}
      </Link>
      <span className="muted worker-small worker-tags">
        {worker.local && <span className="worker-tag">{t('workers.here')}</span>}
        <span>{t(`workers.type.${worker.worker_type}`)}</span>
      </span>
    </span>
  );
}

export function GpusCell({ worker }: CellProps) {
  const t = useT();
  const whole = gpusText(t, worker);
  // Omit the memory of a single GPU, because the line below shows it.
  const text = worker.gpu_count === 1 ? gpusText(t, { ...worker, gpu_vram_gb: null }) : whole;
  return (
    <span className="worker-two-lines">
      <span title={whole}>{text}</span>
      <Vram worker={worker} />
    </span>
  );
}

/** Shows the used and total GPU memory. Renders nothing if the worker reports no memory. */
export function Vram({ worker }: CellProps) {
  const t = useT();
  const total = vramTotal(worker);
  if (total === null) return null;
  const used = worker.status === 'offline' ? null : worker.vram_used_gb;
  if (used === null)
    return (
      <span className="worker-small muted">{t('workers.vram.unknown', { total: figure(t, total) })}</span>
    );
  return (
    <span className="worker-small muted">
      <Progress
        label={t('workers.vram.label', { name: worker.name })}
        percent={Math.min(100, (100 * used) / total)}
        text={t('workers.vram', { used: figure(t, used), total: figure(t, total) })}
      />
    </span>
  );
}

const noSamples: readonly LoadSample[] = [];

export function LoadCell({ worker }: CellProps) {
  const t = useT();
  const samples = useFleet(state => state.loads.get(worker.id)) ?? noSamples;
  const latest = worker.status === 'offline' ? null : worker.gpu_utilization;
  if (latest === null) return <span className="muted">{t('time.none')}</span>;
  const percents = [...samples.map(({ percent }) => percent), latest].map(Math.round);
  const label = t('workers.load.label', {
    last: Math.round(latest),
    least: Math.min(...percents),
    most: Math.max(...percents),
  });
  return (
    <span className="worker-load" title={label}>
      <Sparkline
        label={label}
        spanMs={keptMs}
        points={samples.map(({ at, percent }) => ({ at, value: percent }))}
      />
      <span className="worker-figure">{t('workers.percent', { value: Math.round(latest) })}</span>
    </span>
  );
}

interface JobCellProps extends CellProps {
  /** Shows the remaining time of the job instead of its step, and "free" for an idle worker. */
  readonly showsFree?: boolean;
}

/** Shows the current job and its step. The cell reads the job from the store, so that a new step renders only this cell. */
export function JobCell({ worker, showsFree = false }: JobCellProps) {
  const t = useT();
  const id = worker.current_job_id;
  const job = useFleet(state => (id === null ? undefined : state.fleet.jobs.get(id)));
  if (id === null)
    return (
      <span className="muted">
        {t(showsFree && shownState(worker) === 'idle' ? 'workers.free.now' : 'time.none')}
      </span>
    );
  const name = job === undefined ? id : shownName(job);
  const { step, total_steps: total, percent } = job?.progress ?? {};
  const done = percent ?? (step === undefined || !total ? null : (100 * step) / total);
  const steps =
    step === undefined || total === undefined
      ? t(`state.${job?.status ?? 'running'}`)
      : t('workers.job.steps', { step: figure(t, step), total: figure(t, total) });
  const left = showsFree && job !== undefined ? leftText(t, job) : null;
  return (
    <span className="worker-two-lines">
      <JobLink id={id} title={name} label={name}>
        <ShortName name={name} />
      </JobLink>
      <span className="worker-small muted" title={left === null ? undefined : steps}>
        <Progress label={t('workers.job.of', { name })} percent={done} text={left ?? steps} />
      </span>
    </span>
  );
}

/** Returns the remaining time of a job as text; null without an estimate. */
const leftText = (t: Translator, { progress }: JobView): string | null =>
  progress?.eta_s === undefined
    ? null
    : t('workers.job.left', { time: duration(roundEstimate(progress.eta_s), t.language) });

export function ContactCell({ worker }: CellProps) {
  return (
    <span className="worker-two-lines">
      <Contact worker={worker} />
      <Agent worker={worker} />
    </span>
  );
}

/** Shows the version of the agent, and whether it is older or newer than the version of the server. */
function Agent({ worker }: CellProps) {
  const t = useT();
  const server = useProvidedServerVersion();
  const { agent_version: version } = worker;
  if (version === null) return null;
  const difference = compareAgentVersion(worker, server);
  const text =
    difference === null ? t('workers.agent', { version }) : t(`workers.agent.${difference}`, { version });
  return (
    <span className={difference === null ? 'muted worker-small' : 'worker-small'} title={text}>
      {text}
    </span>
  );
}

/** Shows the time since the last contact. Uses the server's clock, because the clock of this computer may be wrong. */
export function Contact({ worker }: CellProps) {
  const t = useT();
  const leadMs = useFleet(state => state.clockLeadMs);
  const level = contactLevel(worker);
  if (worker.last_heartbeat === null) return <span className="muted">{t('workers.contact.never')}</span>;
  const late = level === 'good' ? {} : { note: t('workers.contact.late') };
  return (
    <span className="worker-contact" data-level={level}>
      {level !== 'good' && <Icon name="recovering" />}
      <Time at={worker.last_heartbeat} isPast leadMs={leadMs} {...late} />
    </span>
  );
}
