import { Fragment, type SubmitEvent, useState } from 'react';
import type { Concurrency } from '../../../protocol/queue.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { useFleet, useMay, usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { TextField, Tick } from '../jobs/field.tsx';
import { limitOf } from './order.ts';

interface LimitsProps {
  readonly limits: Concurrency;
}

/** Shows the limits of the queue, in a form for users who may change them. */
export function QueueLimits() {
  const may = useMay();
  const queue = useFleet(({ fleet }) => fleet.queue);
  if (queue === null) return null;
  const limits = {
    max_concurrent: queue.max_concurrent,
    user_max_concurrent: queue.user_max_concurrent,
    team_max_concurrent: queue.team_max_concurrent,
    team_limits: queue.team_limits,
    enable_fair_share: queue.enable_fair_share,
    approval_required_for: queue.approval_required_for,
    local_gpu_max_concurrent: queue.local_gpu_max_concurrent,
    local_job_max_concurrent: queue.local_job_max_concurrent,
  };
  return may(queueApi.limit) ? (
    <LimitsForm key={JSON.stringify(limits)} limits={limits} />
  ) : (
    <Limits limits={limits} />
  );
}

/** Shows the queue limits without a form, for users who may not change them. */
function Limits({ limits }: LimitsProps) {
  const t = useT();
  const number = new Intl.NumberFormat(t.language);
  const shown = (limit: number | null): string =>
    limit === null ? t('queue.limits.none') : number.format(limit);
  const facts: readonly (readonly [string, string])[] = [
    [t('queue.limits.all'), shown(limits.max_concurrent)],
    [t('queue.limits.user'), shown(limits.user_max_concurrent)],
    [t('queue.limits.team'), shown(limits.team_max_concurrent)],
    ...Object.entries(limits.team_limits).map(
      ([team, limit]) => [t('queue.limits.ofTeam', { team }), shown(limit)] as const,
    ),
    [t('queue.limits.localGpus'), shown(limits.local_gpu_max_concurrent)],
    [t('queue.limits.localJobs'), shown(limits.local_job_max_concurrent)],
    [t('queue.limits.fairShare'), t(limits.enable_fair_share ? 'queue.limits.on' : 'queue.limits.off')],
    [
      t('queue.limits.approval'),
      limits.approval_required_for.length === 0
        ? t('queue.limits.nobody')
        : limits.approval_required_for.join(', '),
    ],
  ];
  return (
    <section className="card" aria-labelledby="queue-limits">
      <h2 id="queue-limits">{t('queue.limits')}</h2>
      <dl className="queue-limits">
        {facts.map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}

const namesIn = (text: string): string[] =>
  text
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '');

/**
 * A form for the queue limits. It needs a new `key` when another user changes the limits, because its state keeps the
 * initial values.
 */
function LimitsForm({ limits }: LimitsProps) {
  const t = useT();
  const { client } = usePanel();
  const [all, setAll] = useState(String(limits.max_concurrent ?? ''));
  const [user, setUser] = useState(String(limits.user_max_concurrent ?? ''));
  const [team, setTeam] = useState(String(limits.team_max_concurrent ?? ''));
  const [localGpus, setLocalGpus] = useState(String(limits.local_gpu_max_concurrent ?? ''));
  const [localJobs, setLocalJobs] = useState(String(limits.local_job_max_concurrent ?? ''));
  const [isFair, setIsFair] = useState(limits.enable_fair_share);
  const [approval, setApproval] = useState(limits.approval_required_for.join(', '));
  const newLimits = {
    max_concurrent: limitOf(all),
    user_max_concurrent: limitOf(user),
    team_max_concurrent: limitOf(team),
    enable_fair_share: isFair,
    approval_required_for: namesIn(approval),
    local_gpu_max_concurrent: limitOf(localGpus),
    local_job_max_concurrent: limitOf(localJobs),
  };
  const isSame =
    newLimits.max_concurrent === limits.max_concurrent &&
    newLimits.user_max_concurrent === limits.user_max_concurrent &&
    newLimits.team_max_concurrent === limits.team_max_concurrent &&
    newLimits.enable_fair_share === limits.enable_fair_share &&
    newLimits.local_gpu_max_concurrent === limits.local_gpu_max_concurrent &&
    newLimits.local_job_max_concurrent === limits.local_job_max_concurrent &&
    newLimits.approval_required_for.join() === limits.approval_required_for.join();
  const trouble = (limit: number | null | undefined) =>
    limit === undefined ? t('queue.limits.whole') : undefined;
  const isWrong = Object.values(newLimits).includes(undefined);
  const save = (event: SubmitEvent): void => {
    event.preventDefault();
    void client
      .call(queueApi.limit, { body: newLimits })
      .then(answer => !answer.ok && showFailure(t, answer.failure));
  };
  const numbers = [
    ['queue.limits.all', all, setAll, newLimits.max_concurrent],
    ['queue.limits.user', user, setUser, newLimits.user_max_concurrent],
    ['queue.limits.team', team, setTeam, newLimits.team_max_concurrent],
    ['queue.limits.localGpus', localGpus, setLocalGpus, newLimits.local_gpu_max_concurrent],
    ['queue.limits.localJobs', localJobs, setLocalJobs, newLimits.local_job_max_concurrent],
  ] as const;
  return (
    <form className="card" aria-labelledby="queue-limits" onSubmit={save}>
      <h2 id="queue-limits">{t('queue.limits')}</h2>
      <p className="muted">{t('queue.limits.explain')}</p>
      <div className="limit-fields">
        {numbers.map(([key, value, onChange, limit]) => (
          <TextField
            key={key}
            isNumber
            label={t(key)}
            error={trouble(limit)}
            value={value}
            onChange={onChange}
          />
        ))}
      </div>
      <Tick label={t('queue.limits.fairShare')} isOn={isFair} onChange={setIsFair} />
      <TextField
        label={t('queue.limits.approval')}
        hint={t('queue.limits.approvalHint')}
        value={approval}
        onChange={setApproval}
      />
      <div>
        <Button type="submit" disabled={isSame || isWrong}>
          {t('queue.limits.save')}
        </Button>
      </div>
    </form>
  );
}
