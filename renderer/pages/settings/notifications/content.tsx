import { notificationsApi } from '../../../../protocol/notifications-api.ts';
import { pushApi } from '../../../../protocol/push-api.ts';
import { useLoaded } from '../../../app/context.ts';
import { desktop } from '../../../app/desktop.tsx';
import { Allowed } from '../../../app/guarded.tsx';
import { Channels } from './channels.tsx';
import { Deliveries } from './deliveries.tsx';
import { PushCard } from './push.tsx';
import { Rules } from './rules.tsx';
import { NotificationTexts, useNotifyT } from './texts.tsx';
import './notifications.css';

export const NotificationSettings = () => (
  <NotificationTexts>
    {/* The desktop app shows native notifications, so it needs no push messages. */}
    {desktop === null && (
      <Allowed call={pushApi.get}>
        <PushCard />
      </Allowed>
    )}
    <Allowed call={notificationsApi.listChannels}>
      <Administration />
    </Allowed>
  </NotificationTexts>
);

function Administration() {
  const t = useNotifyT();
  const channels = useLoaded(notificationsApi.listChannels);
  const rules = useLoaded(notificationsApi.listRules);
  const listed = channels.value?.channels ?? null;
  const reload = (): void => {
    channels.reload();
    rules.reload();
  };
  return (
    <section className="card notify" aria-labelledby="settings-notifications">
      <h2 id="settings-notifications">{t('notify.title')}</h2>
      <p className="muted">{t('notify.explain')}</p>
      <Channels channels={listed} onChange={reload} />
      <Rules channels={listed ?? []} rules={rules.value?.rules ?? null} onChange={reload} />
      <Deliveries />
    </section>
  );
}
