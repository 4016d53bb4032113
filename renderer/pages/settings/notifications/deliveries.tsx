import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import type { DeliveryState, DeliveryView } from '../../../../protocol/notification.ts';
import { notificationsApi } from '../../../../protocol/notifications-api.ts';
import { useLoaded } from '../../../app/context.ts';
import { Button } from '../../../ui/button.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { Time } from '../../../ui/time.tsx';
import { Choice } from '../../jobs/field.tsx';
import { useNotifyT } from './texts.tsx';

const shown = ['all', 'pending', 'failed', 'delivered'] as const;
type Shown = (typeof shown)[number];

const icons = { pending: 'pending', delivered: 'completed', failed: 'failed' } as const satisfies Readonly<
  Record<DeliveryState, string>
>;

/** The newest deliveries, each with its state, number of tries, last result and next try. */
export function Deliveries() {
  const t = useNotifyT();
  const [state, setState] = useState<Shown>('all');
  const input = useMemo(() => ({ query: { limit: 50, ...(state !== 'all' && { state }) } }), [state]);
  const { value, reload } = useLoaded(notificationsApi.listDeliveries, input);
  const deliveries = value?.deliveries ?? null;
  return (
    <div className="notify-part">
      <h3>{t('notify.log')}</h3>
      <div className="notify-bar">
        <Choice
          label={t('notify.log.show')}
          value={state}
          choices={shown.map(each => [each, t(`notify.log.${each}`)] as const)}
          onChange={setState}
        />
        <Button onClick={reload}>{t('notify.log.refresh')}</Button>
      </div>
      {deliveries?.length === 0 && (
        <p className="muted">{t(state === 'all' ? 'notify.log.none' : 'notify.log.noneOf')}</p>
      )}
      <ul className="plain-list notify-list">
        {deliveries?.map(delivery => (
          <li key={delivery.delivery_id}>
            <Delivery delivery={delivery} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Delivery({ delivery }: { readonly delivery: DeliveryView }) {
  const t = useNotifyT();
  const { state, title, job_id: job, channel_name: channel, tries, result, created_at: at } = delivery;
  return (
    <div className="notify-row notify-delivery">
      <span className="notify-state" data-state={state}>
        <Icon name={icons[state]} />
        {t(`notify.log.${state}`)}
      </span>
      <span className="notify-main">
        {job === null ? <span>{title}</span> : <Link href={`/jobs/${job}`}>{title}</Link>}
        <span aria-hidden="true">→</span>
        <span translate="no">{channel}</span>
        <span className="muted">
          <Time at={at} isPast />
        </span>
      </span>
      <span className="muted notify-result">
        {[t('notify.log.tries', { count: tries }), ...(result === null ? [] : [result])].join(' · ')}
        {delivery.next_try_at !== null && (
          <>
            {' · '}
            {t('notify.log.next')} <Time at={delivery.next_try_at} />
          </>
        )}
      </span>
    </div>
  );
}
