import { type SubmitEvent, useState } from 'react';
import type { Concurrency } from '../../../protocol/queue.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { tellFailure } from '../../ui/toast.tsx';
import { TextField } from '../jobs/field.tsx';
import { limitOf } from './order.ts';

interface LimitsProps {
  readonly limits: Concurrency;
}

/** For who may not set them. */
export function Limits({ limits: { max_concurrent: all, user_max_concurrent: user } }: LimitsProps) {
  const t = useT();
  const number = new Intl.NumberFormat(t.language);
  const shown = (limit: number | null): string =>
    limit === null ? t('queue.limits.none') : number.format(limit);
  return (
    <section className="card" aria-labelledby="queue-limits">
      <h2 id="queue-limits">{t('queue.limits')}</h2>
      <dl className="queue-limits">
        <dt>{t('queue.limits.all')}</dt>
        <dd>{shown(all)}</dd>
        <dt>{t('queue.limits.user')}</dt>
        <dd>{shown(user)}</dd>
      </dl>
    </section>
  );
}

/** Made anew when somebody has set other limits. */
export function LimitsForm({ limits }: LimitsProps) {
  const t = useT();
  const { client } = usePanel();
  const [all, setAll] = useState(String(limits.max_concurrent ?? ''));
  const [user, setUser] = useState(String(limits.user_max_concurrent ?? ''));
  const wanted = { max_concurrent: limitOf(all), user_max_concurrent: limitOf(user) };
  const isSame =
    wanted.max_concurrent === limits.max_concurrent &&
    wanted.user_max_concurrent === limits.user_max_concurrent;
  const trouble = (limit: number | null | undefined) =>
    limit === undefined ? t('queue.limits.whole') : undefined;
  const isWrong = wanted.max_concurrent === undefined || wanted.user_max_concurrent === undefined;
  const save = (event: SubmitEvent): void => {
    event.preventDefault();
    void client
      .call(queueApi.limit, { body: wanted })
      .then(answer => !answer.ok && tellFailure(t, answer.failure));
  };
  return (
    <form className="card" aria-labelledby="queue-limits" onSubmit={save}>
      <h2 id="queue-limits">{t('queue.limits')}</h2>
      <p className="muted">{t('queue.limits.explain')}</p>
      <div className="limit-fields">
        <TextField
          isNumber
          label={t('queue.limits.all')}
          error={trouble(wanted.max_concurrent)}
          value={all}
          onChange={setAll}
        />
        <TextField
          isNumber
          label={t('queue.limits.user')}
          error={trouble(wanted.user_max_concurrent)}
          value={user}
          onChange={setUser}
        />
      </div>
      <div>
        <Button type="submit" disabled={isSame || isWrong}>
          {t('queue.limits.save')}
        </Button>
      </div>
    </form>
  );
}
