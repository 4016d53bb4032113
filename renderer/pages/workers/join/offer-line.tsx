import { useState } from 'react';
import type { WorkerId } from '../../../../protocol/ids.ts';
import { useFleet, usePanel } from '../../../app/context.ts';
import { perLocale } from '../../../i18n/formats.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { useNow } from '../../../ui/time.tsx';
import { showFailure } from '../../../ui/toast.tsx';
import { type JoinOffer, offerStatus, requestJoinOffer } from './join-offer.ts';
import { joinPhase } from './join-wait.tsx';

const timeOfDay = perLocale({ timeStyle: 'short' });

interface OfferLineProps {
  readonly id: WorkerId;
  readonly offer: JoinOffer | null;
  readonly isNew: boolean;
  readonly onNew: (offer: JoinOffer) => void;
}

/**
 * Shows when the join token in the command expires, with a button that replaces an expired token. Renders nothing after a
 * new worker has joined.
 */
export function OfferLine({ id, offer, isNew, onNew }: OfferLineProps) {
  const t = useT();
  const { client } = usePanel();
  const worker = useFleet(state => state.fleet.workers.get(id));
  const now = useNow(1_000);
  const [isRequesting, setRequesting] = useState(false);
  if (isNew && joinPhase(worker) !== 'listening') return null;
  const renew = async (): Promise<void> => {
    setRequesting(true);
    const requested = await requestJoinOffer(client, id);
    setRequesting(false);
    if (requested.ok) onNew(requested.value);
    else showFailure(t, requested.failure);
  };
  const status = offerStatus(offer, now);
  const time = offer === null ? '' : timeOfDay(t).format(offer.until);
  return (
    <p className="worker-offer" data-standing={status}>
      <span role="status">
        {status === 'missing' ? t('workers.join.missing') : t(`workers.join.${status}`, { time })}
      </span>
      {status !== 'open' && (
        <Button disabled={isRequesting} onClick={() => void renew()}>
          {t('workers.join.again')}
        </Button>
      )}
    </p>
  );
}
