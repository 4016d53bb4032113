import { perPlace } from '../i18n/formats.ts';
import { useT } from '../i18n/index.ts';
import { Icon } from '../ui/icon.tsx';
import { useFleet } from './context.ts';

const sinceFormat = perPlace({ timeStyle: 'medium' });

/** Whether what is shown is what is. */
export function StreamBadge() {
  const t = useT();
  const stream = useFleet(state => state.stream);
  const time = stream.kind === 'stale' ? sinceFormat(t).format(stream.since) : '';
  const words = {
    connecting: t('stream.connecting'),
    loading: t('stream.loading'),
    live: t('stream.live'),
    stale: t('stream.stale', { time }),
  };
  return (
    <div className="stream-badge" data-stream={stream.kind} role="status">
      <Icon name={stream.kind === 'live' ? 'live' : 'stale'} />
      <span>{words[stream.kind]}</span>
    </div>
  );
}
