import { useCallback, useEffect, useState } from 'react';
import type { NotificationEvent } from '../../../../protocol/notification.ts';
import type { PushView, SubscriptionView } from '../../../../protocol/push.ts';
import { pushApi } from '../../../../protocol/push-api.ts';
import { useLoaded, usePanel } from '../../../app/context.ts';
import {
  browserName,
  detailsOf,
  fingerprintOf,
  pushSupport,
  subscribeBrowser,
  unsubscribeBrowser,
} from '../../../install/push.ts';
import { currentSubscription, noteSubscriber } from '../../../install/subscription.ts';
import { detailOf } from '../../../api/session.ts';
import { Button } from '../../../ui/button.tsx';
import { Time } from '../../../ui/time.tsx';
import { showFailure, showToast, showTrouble } from '../../../ui/toast.tsx';
import { Tick } from '../../jobs/field.tsx';
import { type Outcome, TestResult } from './channels.tsx';
import { EventChoice } from './event-choice.tsx';
import { Filter } from './rule-form.tsx';
import { useNotifyT } from './texts.tsx';

/** Settings for push messages to this browser, and a list of the user's other subscribed browsers. */
export function PushCard() {
  const t = useNotifyT();
  const { value, reload } = useLoaded(pushApi.get);
  const [fingerprint, setFingerprint] = useState<string | null>(null);
  const readFingerprint = useCallback(async (): Promise<void> => {
    const subscription = await currentSubscription();
    setFingerprint(subscription === null ? null : await fingerprintOf(subscription.endpoint));
  }, []);
  useEffect(() => void readFingerprint(), [readFingerprint]);
  const support = pushSupport();
  const subscriptionHere =
    value?.subscriptions.find(({ endpoint_sha256: hash }) => hash === fingerprint) ?? null;
  const others = value?.subscriptions.filter(each => each !== subscriptionHere) ?? [];
  const changed = (): void => void readFingerprint().then(reload);
  return (
    <section className="card notify" aria-labelledby="settings-push">
      <h2 id="settings-push">{t('notify.push')}</h2>
      <p className="muted">{t('notify.push.explain')}</p>
      {support !== 'possible' && (
        <p className="notice" role="note">
          {t(`notify.push.${support}`)}
        </p>
      )}
      {support === 'possible' && value !== null && value.events.length > 0 && (
        <ThisBrowser
          key={subscriptionHere?.subscription_id ?? ''}
          view={value}
          own={subscriptionHere}
          onChange={changed}
        />
      )}
      {isSecureContext && <p className="muted">{t('notify.push.install')}</p>}
      {others.length > 0 && <Others others={others} onChange={reload} />}
    </section>
  );
}

interface ThisBrowserProps {
  readonly view: PushView;
  /** The subscription of this browser; null for none. */
  readonly own: SubscriptionView | null;
  readonly onChange: () => void;
}

const defaultEvents: readonly NotificationEvent[] = [
  'job_completed',
  'job_failed',
  'approval_needed',
  'worker_lost',
];

function ThisBrowser({ view, own, onChange }: ThisBrowserProps) {
  const t = useNotifyT();
  const { client, person } = usePanel();
  const [events, setEvents] = useState<readonly NotificationEvent[]>(
    own?.events ?? view.events.filter(event => defaultEvents.includes(event)),
  );
  const [isOnlyOwn, setOnlyOwn] = useState(own?.only_own ?? true);
  const [tag, setTag] = useState(own?.tag ?? '');
  const [isBusy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    const details = detailsOf(await subscribeBrowser(view.public_key));
    if (details === null) return showTrouble(t, t('notify.push.unsupported'));
    const body = {
      ...details,
      name: browserName(navigator.userAgent),
      events: [...events],
      only_own: isOnlyOwn,
      tag: tag.trim() || null,
    };
    const answer = await client.call(pushApi.subscribe, { body });
    if (!answer.ok) return showTrouble(t, detailOf(answer.failure) ?? t('error.unreachable'));
    noteSubscriber(person.user);
    showToast(t('notify.push.saved'));
    return onChange();
  };
  const act = async (action: () => Promise<void>): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    try {
      await action();
    } catch (cause) {
      // Subscribing throws if the user denied the permission or the push service refused.
      showTrouble(
        t,
        t('notify.push.failed', { reason: cause instanceof Error ? cause.message : String(cause) }),
      );
      onChange();
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="notify-push">
      {own !== null && <p className="notify-good">{t('notify.push.on')}</p>}
      <EventChoice offered={view.events} chosen={events} onChange={setEvents} />
      <Tick label={t('notify.push.own')} isOn={isOnlyOwn} onChange={setOnlyOwn} />
      <Filter label={t('notify.rule.onlyTag')} value={tag} onChange={setTag} />
      <span className="notify-main">
        <Button
          kind="primary"
          disabled={events.length === 0}
          aria-disabled={isBusy}
          onClick={() => void act(save)}
        >
          {t(own === null ? 'notify.push.turnOn' : 'notify.push.save')}
        </Button>
        {own !== null && <Test own={own} onChange={onChange} />}
        {own !== null && (
          <Button onClick={() => void act(() => unsubscribeBrowser(client, own).then(onChange))}>
            {t('notify.push.turnOff')}
          </Button>
        )}
      </span>
    </div>
  );
}

function Test({ own, onChange }: { readonly own: SubscriptionView; readonly onChange: () => void }) {
  const t = useNotifyT();
  const { client } = usePanel();
  const [outcome, setOutcome] = useState<Outcome>('none');
  const isBusy = outcome === 'busy';
  const test = async (): Promise<void> => {
    setOutcome('busy');
    const answer = await client.call(pushApi.test, { params: { id: own.subscription_id } });
    if (answer.ok) return setOutcome(answer.value);
    setOutcome('none');
    showFailure(t, answer.failure);
    return onChange();
  };
  return (
    <>
      <Button
        aria-disabled={isBusy}
        onClick={() => {
          if (!isBusy) void test();
        }}
      >
        {t(isBusy ? 'notify.test.busy' : 'notify.test')}
      </Button>
      <TestResult name={own.name} outcome={outcome} />
    </>
  );
}

interface OthersProps {
  readonly others: readonly SubscriptionView[];
  readonly onChange: () => void;
}

function Others({ others, onChange }: OthersProps) {
  const t = useNotifyT();
  const { client } = usePanel();
  const remove = async ({ subscription_id: id }: SubscriptionView): Promise<void> => {
    const answer = await client.call(pushApi.unsubscribe, { params: { id } });
    if (!answer.ok) showFailure(t, answer.failure);
    onChange();
  };
  return (
    <div className="notify-part">
      <h3>{t('notify.push.others')}</h3>
      <ul className="plain-list notify-list">
        {others.map(browser => (
          <li key={browser.subscription_id} className="notify-row">
            <span className="notify-main">
              <strong>{browser.name}</strong>
              <span className="muted">
                {t('notify.push.since')} <Time at={browser.created_at} isPast />
              </span>
            </span>
            <Button
              kind="quiet"
              aria-label={t('notify.push.remove.of', { name: browser.name })}
              onClick={() => void remove(browser)}
            >
              {t('notify.push.remove')}
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}
