import { useCallback, useEffect, useState } from 'react';
import type { CallInput, CallResult } from '../../protocol/client.ts';
import { settingsApi, type SettingsView } from '../../protocol/settings-api.ts';
import { useT } from '../i18n/index.ts';
import { usePanel } from './context.ts';

export type SettingsChange = NonNullable<CallInput<typeof settingsApi.change>['body']>;

export type ChangeSettings = (body: SettingsChange) => Promise<CallResult<typeof settingsApi.change>>;

export interface SettingsState {
  /** Null until the settings are loaded, when loading failed, or without permission. */
  readonly settings: SettingsView | null;
  readonly isRead: boolean;
  /** Changes settings and shows the server's answer. */
  readonly change: ChangeSettings;
}

/** No event reports when a worker's last job ends, so poll at this interval. */
const pollMs = 3_000;

/** The orchestrator's settings when the component mounted or last changed them. */
export function useSettings(): SettingsState {
  const { client, may } = usePanel();
  const mayRead = may(settingsApi.get);
  const [settings, setSettings] = useState<SettingsView | null>(null);
  const [isRead, setRead] = useState(!mayRead);
  const load = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      const answer = await client.call(settingsApi.get, { signal });
      if (signal.aborted) return;
      if (answer.ok) setSettings(answer.value);
      setRead(true);
    },
    [client],
  );
  useEffect(() => {
    if (!mayRead) return undefined;
    const controller = new AbortController();
    void load(controller.signal);
    return () => controller.abort();
  }, [load, mayRead]);
  const isLeaving = settings?.local_worker.state === 'leaving';
  useEffect(() => {
    if (!isLeaving) return undefined;
    const controller = new AbortController();
    const timer = setInterval(() => void load(controller.signal), pollMs);
    return () => {
      controller.abort();
      clearInterval(timer);
    };
  }, [isLeaving, load]);
  const change = useCallback<ChangeSettings>(
    async body => {
      const answer = await client.call(settingsApi.change, { body });
      if (answer.ok) setSettings(answer.value);
      return answer;
    },
    [client],
  );
  return { settings, isRead, change };
}

interface ShareTermsProps {
  readonly withTls: boolean;
  /** A command-line flag sets TLS. */
  readonly isTlsFixed: boolean;
  readonly onChange: (withTls: boolean) => void;
}

/** Asks whether to use TLS before the orchestrator is shared with other machines. */
export function ShareTerms({ withTls, isTlsFixed, onChange }: ShareTermsProps) {
  const t = useT();
  return (
    <>
      <p>{t('settings.share.what')}</p>
      {!isTlsFixed && (
        <label className="inline-label">
          <input type="checkbox" checked={withTls} onChange={() => onChange(!withTls)} />
          {t('settings.share.tls')}
        </label>
      )}
      {!withTls && (
        <p className="notice" role="note">
          {t('settings.share.warning')}
        </p>
      )}
    </>
  );
}
