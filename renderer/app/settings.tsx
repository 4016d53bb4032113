import { useCallback, useEffect, useState } from 'react';
import type { CallInput, CallResult } from '../../protocol/client.ts';
import { settingsApi, type SettingsView } from '../../protocol/settings-api.ts';
import { useT } from '../i18n/index.ts';
import { usePanel } from './context.ts';

export type SettingsChange = NonNullable<CallInput<typeof settingsApi.change>['body']>;

export type ChangeSettings = (body: SettingsChange) => Promise<CallResult<typeof settingsApi.change>>;

export interface SettingsState {
  /** Null before the settings have loaded, after a failed load, and for users without permission. */
  readonly settings: SettingsView | null;
  /** True after the first read, even a failed one, and for users without permission. */
  readonly isRead: boolean;
  /** Changes settings and keeps the server's answer. */
  readonly change: ChangeSettings;
}

/**
 * Interval for reading the settings while the local worker finishes its last job, because no event reports the end of
 * that job.
 */
const pollMs = 3_000;

/** Reads the settings once when the component mounts. They are not updated when another user changes them. */
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
  /** True when a command-line flag determines whether TLS is used. */
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
