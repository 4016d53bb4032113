import AppWindow from 'lucide-react/icons/app-window';
import Globe from 'lucide-react/icons/globe';
import Monitor from 'lucide-react/icons/monitor';
import Smartphone from 'lucide-react/icons/smartphone';
import { useRef, useState } from 'react';
import { sessionApi, type SessionView } from '../../../protocol/session-api.ts';
import { usePanel, useLoaded } from '../../app/context.ts';
import { useVisibleNow } from '../../app/use-visible-now.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Time } from '../../ui/time.tsx';
import { showToast, showFailure } from '../../ui/toast.tsx';
import './tokens.css';

/** Interval between reads, because no event reports changes of sessions. */
const readMs = 30_000;

/** Lists the browser sessions. The user can sign out single sessions, or all sessions except the current one. */
export function Sessions() {
  const t = useT();
  const { client } = usePanel();
  const { value, reload } = useLoaded(sessionApi.list, undefined, String(useVisibleNow(readMs)));
  const sessions = value?.sessions ?? [];
  const [isConfirming, setConfirming] = useState(false);
  const revokeOthers = async (): Promise<void> => {
    const answer = await client.call(sessionApi.revokeAll, { query: { keep_current: 'true' } });
    if (!answer.ok) return showFailure(t, answer.failure);
    showToast(t('sessions.revoked', { count: answer.value.revoked }));
    reload();
  };
  const section = useRef<HTMLElement>(null);
  const revoke = async ({ id }: SessionView): Promise<void> => {
    const answer = await client.call(sessionApi.revoke, { params: { id } });
    if (!answer.ok) return showFailure(t, answer.failure);
    showToast(t('sessions.revoked', { count: 1 }));
    // Move the focus, because the row with the focused button disappears.
    section.current?.focus();
    reload();
  };
  return (
    <section ref={section} tabIndex={-1} className="card" aria-labelledby="settings-sessions">
      <h2 id="settings-sessions">{t('sessions.title')}</h2>
      <p className="muted">{value?.sessions.length === 0 ? t('sessions.none') : t('sessions.what')}</p>
      {sessions.length > 0 && (
        <ul className="plain-list settings-tokens">
          {sessions.map(session => (
            <li key={session.id}>
              <Session session={session} onRevoke={() => void revoke(session)} />
            </li>
          ))}
        </ul>
      )}
      {sessions.some(({ current }) => !current) && (
        <div>
          <Button onClick={() => setConfirming(true)}>{t('sessions.others')}</Button>
        </div>
      )}
      {isConfirming && (
        <Confirm
          title={t('sessions.others.title')}
          consequence={t('sessions.others.consequence')}
          act={t('sessions.others')}
          onConfirm={() => void revokeOthers()}
          onClose={() => setConfirming(false)}
        />
      )}
    </section>
  );
}

interface SessionProps {
  readonly session: SessionView;
  readonly onRevoke: () => void;
}

/** Returns the icon for a device. The name of a device ends with its system, such as "Firefox on Android". */
function iconOf(device: string | null) {
  if (device === null) return Globe;
  if (/\b(?:Android|iOS)$/.test(device)) return Smartphone;
  return device.startsWith('Electron ') ? AppWindow : Monitor;
}

function Session({ session, onRevoke }: SessionProps) {
  const t = useT();
  const device = session.device ?? t('sessions.unknown');
  const DeviceIcon = iconOf(session.device);
  return (
    <div className="settings-access">
      <DeviceIcon size={20} strokeWidth={1.75} aria-hidden="true" />
      <div className="settings-access-about">
        <span className="settings-access-name">
          <strong translate="no">{device}</strong>
          {session.current && <span className="settings-access-mark">{t('sessions.current')}</span>}
        </span>
        <span className="settings-access-facts">
          <span translate="no">{session.user}</span>
          {session.address !== null && <span translate="no">{session.address}</span>}
          <span>
            {t('sessions.since')} <Time at={session.signed_in_at} />
          </span>
          <span>
            {t('tokens.used')} <Time at={session.last_used_at} />
          </span>
        </span>
      </div>
      {!session.current && (
        <Button aria-label={t('sessions.revoke.of', { device, user: session.user })} onClick={onRevoke}>
          {t('sessions.revoke')}
        </Button>
      )}
    </div>
  );
}
