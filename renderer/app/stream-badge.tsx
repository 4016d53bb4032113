import { eventsApi, workersApi } from '../../protocol/admin-api.ts';
import { perPlace } from '../i18n/formats.ts';
import { useT } from '../i18n/index.ts';
import { Icon } from '../ui/icon.tsx';
import { useFleet, useMay } from './context.ts';

const sinceFormat = perPlace({ timeStyle: 'medium' });

/** Shows whether the page is up to date; nothing for users who may see neither jobs nor workers. */
export function StreamBadge() {
  const t = useT();
  const may = useMay();
  const stream = useFleet(state => state.stream);
  const time = stream.kind === 'stale' ? sinceFormat(t).format(stream.since) : '';
  const words = {
    connecting: t('stream.connecting'),
    loading: t('stream.loading'),
    live: t('stream.live'),
    stale: t('stream.stale', { time }),
    polled: t('stream.polled'),
  };
  if (!may(eventsApi.stream) && !may(workersApi.list)) return null;
  return (
    <div className="stream-badge" data-stream={stream.kind} role="status">
      <Icon name={stream.kind === 'live' || stream.kind === 'polled' ? 'live' : 'stale'} />
      <span>{words[stream.kind]}</span>
    </div>
  );
}
