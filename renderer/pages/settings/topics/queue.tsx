import { queueApi } from '../../../../protocol/queue-api.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { Cleanup } from '../../queue/cleanup.tsx';
import { QueueLimits } from '../../queue/limits.tsx';
import '../../jobs/jobs.css';
import '../../queue/queue.css';
import { LinkCard } from '../link-card.tsx';
import { useSettingsT } from '../texts.tsx';

export function QueueTopic() {
  const t = useSettingsT();
  return (
    <>
      <QueueLimits />
      <Allowed call={queueApi.cleanup}>
        <Cleanup />
      </Allowed>
      <LinkCard
        id="settings-queue"
        title={t('topics.queue.title')}
        href="/queue"
        link={t('topics.queue.page')}
      >
        <p className="muted">{t('topics.queue.explain')}</p>
      </LinkCard>
    </>
  );
}
