import type { CallFailure } from '../../../../protocol/client.ts';
import { detailOf } from '../../../api/session.ts';
import { useFleet } from '../../../app/context.ts';
import { PoolLink, WorkerLink } from '../../../app/links.tsx';
import { Icon, type IconName } from '../../../ui/icon.tsx';
import { checkTexts, dataText } from '../details/explanation.tsx';
import { aboutOutputs, Warnings } from '../warnings.tsx';
import { Estimates } from './estimates.tsx';
import { type SubmitTranslator, useSubmitT } from './texts.tsx';
import type { DryRun } from './use-live-answer.ts';

interface LiveAnswerProps {
  readonly answer: DryRun | null;
  readonly failure: CallFailure | null;
  readonly isLoading: boolean;
  /** The first error that the browser found in the form; null for none. */
  readonly problem: string | null;
  /** True if the form has no config yet. */
  readonly isEmpty: boolean;
}

/** Shows which rigs could take the job, its estimated start and its needs, while the user edits the form. */
export function LiveAnswer({ answer, failure, isLoading, problem, isEmpty }: LiveAnswerProps) {
  const t = useSubmitT();
  return (
    <section
      className="card live-answer"
      aria-labelledby="live-answer"
      aria-busy={isLoading}
      data-busy={isLoading}
    >
      <h2 id="live-answer">{t('submit.answer')}</h2>
      <Headline answer={answer} failure={failure} problem={problem} isEmpty={isEmpty} />
      {answer !== null && problem === null && (
        <>
          <Estimates answer={answer} />
          <Rigs answer={answer} />
          <Pools answer={answer} />
          <Warnings warnings={aboutOutputs(answer.warnings ?? [])} />
        </>
      )}
    </section>
  );
}

function Headline({ answer, failure, problem, isEmpty }: Omit<LiveAnswerProps, 'isLoading'>) {
  const t = useSubmitT();
  const worker = useFleet(({ fleet }) => {
    const id = answer?.allocated_worker_id ?? null;
    const rig = answer?.explanation.workers.find(each => each.worker_id === id);
    return id === null ? '' : (fleet.workers.get(id)?.name ?? rig?.name ?? id);
  });
  const { icon, text, tone, detail } = headlineOf({ answer, failure, problem, isEmpty }, worker, t);
  return (
    <p className="answer-headline" data-tone={tone} role="status">
      <Icon name={icon} /> <strong>{text}</strong>
      {detail !== null && <span className="answer-detail">{detail}</span>}
    </p>
  );
}

interface Head {
  readonly icon: IconName;
  readonly text: string;
  readonly tone: 'good' | 'wait' | 'bad' | 'none';
  readonly detail: string | null;
}

function headlineOf(
  { answer, failure, problem, isEmpty }: Omit<LiveAnswerProps, 'isLoading'>,
  worker: string,
  t: SubmitTranslator,
): Head {
  if (isEmpty) return { icon: 'pending', tone: 'none', text: t('submit.answer.none'), detail: null };
  if (problem !== null) return { icon: 'failed', tone: 'bad', text: t('submit.answer.fix'), detail: problem };
  if (failure !== null)
    return {
      icon: 'failed',
      tone: 'bad',
      text: t('submit.answer.refused'),
      detail: detailOf(failure) ?? t('error.unreachable'),
    };
  if (answer === null)
    return { icon: 'starting', tone: 'none', text: t('submit.answer.asking'), detail: null };
  const { status, explanation, queue_position: position, reason } = answer;
  const wait = { icon: 'pending', tone: 'wait', detail: reason } as const;
  if (explanation.unsatisfiable && status !== 'running')
    return { icon: 'failed', tone: 'bad', text: t('jobs.answer.impossible'), detail: null };
  switch (status) {
    case 'running':
      return { icon: 'completed', tone: 'good', text: t('submit.answer.now', { worker }), detail: null };
    case 'blocked':
      return { ...wait, icon: 'blocked', text: t('submit.answer.approval') };
    case 'rejected':
      return { icon: 'failed', tone: 'bad', text: t('jobs.answer.rejected'), detail: reason };
    case 'queued':
      return { ...wait, text: t('submit.answer.waits', { position: position ?? 1 }) };
  }
}

const maxRigs = 8;
/** Reasons that end when the current job of the rig ends. */
const occupied = new Set(['busy', 'settling']);
/** Temporary reasons: they end without a change to the job or to the configuration of the rig. */
const passing = new Set(['busy', 'settling', 'no_stream', 'offline', 'draining', 'closed', 'updating']);

type Rig = DryRun['explanation']['workers'][number];

const rankOf = ({ fits, reasons }: Rig): number => {
  if (fits) return 0;
  return reasons.every(({ code }) => passing.has(code)) ? 1 : 2;
};

const icons = ['completed', 'pending', 'cancelled'] as const;
const tones = ['good', 'wait', 'bad'] as const;

/** Lists the rigs: first rigs that can take the job now, then rigs that can take it later, then all others. */
function Rigs({ answer: { explanation } }: { readonly answer: DryRun }) {
  const t = useSubmitT();
  const sorted = explanation.workers.toSorted((a, b) => rankOf(a) - rankOf(b));
  if (sorted.length === 0) return null;
  const shown = sorted.slice(0, maxRigs);
  const fitting = sorted.filter(({ reasons }) => reasons.every(({ code }) => occupied.has(code))).length;
  const later = sorted.filter(rig => rankOf(rig) < 2).length - fitting;
  return (
    <div>
      <h3>{t('submit.rigs', { fitting, count: sorted.length })}</h3>
      {later > 0 && <p className="muted">{t('submit.rigs.later', { count: later })}</p>}
      <ul className="answer-rigs">
        {shown.map(rig => {
          const rank = rankOf(rig);
          const words = [
            ...(rig.fits ? [t('submit.rig.free')] : checkTexts(rig.reasons, t)),
            ...dataText(rig.datasets, t),
          ].join('; ');
          return (
            <li key={rig.worker_id} data-tone={tones[rank]}>
              <Icon name={icons[rank] ?? 'cancelled'} />
              <span>
                <WorkerLink id={rig.worker_id}>{rig.name}</WorkerLink> {words}
              </span>
            </li>
          );
        })}
      </ul>
      {sorted.length > maxRigs && (
        <p className="muted">{t('jobs.explain.more', { count: sorted.length - maxRigs })}</p>
      )}
    </div>
  );
}

function Pools({ answer: { explanation } }: { readonly answer: DryRun }) {
  const t = useSubmitT();
  if (explanation.pools.length === 0) return null;
  return (
    <div>
      <h3>{t('nav.pools')}</h3>
      <ul className="answer-rigs">
        {explanation.pools.map(({ pool_id: id, name, detail }) => (
          <li key={id}>
            <Icon name="pools" />
            <span>
              <PoolLink id={id}>{name}</PoolLink> {detail}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
