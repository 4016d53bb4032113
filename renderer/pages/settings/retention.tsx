import { useState } from 'react';
import { settingsApi, type SettingsView } from '../../../protocol/settings-api.ts';
import { Allowed } from '../../app/guarded.tsx';
import type { ChangeSettings } from '../../app/settings.tsx';
import { useT } from '../../i18n/index.ts';
import { SettingsForm } from './settings-form.tsx';

interface RetentionProps {
  readonly audit: SettingsView['audit'];
  readonly change: ChangeSettings;
}

/** Sets for how many days audit rows are kept. */
export function Retention({ audit, change }: RetentionProps) {
  const t = useT();
  const { retention_days: days, fixed_by: fixedBy } = audit;
  return (
    <section className="card" aria-labelledby="settings-retention">
      <h2 id="settings-retention">{t('retention.title')}</h2>
      <p>{days === null ? t('retention.all') : t('retention.some', { count: days })}</p>
      {fixedBy === null ? (
        <Allowed call={settingsApi.change}>
          <RetentionForm key={days} days={days} change={change} />
        </Allowed>
      ) : (
        <p className="muted">{t('settings.fixed', { by: fixedBy })}</p>
      )}
      <p className="muted">{t('retention.what')}</p>
    </section>
  );
}

interface RetentionFormProps {
  readonly days: number | null;
  readonly change: ChangeSettings;
}

function RetentionForm({ days, change }: RetentionFormProps) {
  const t = useT();
  const [text, setText] = useState(String(days ?? ''));
  const newDays = text.trim() === '' ? null : Number(text);
  return (
    <SettingsForm wanted={{ audit_retention_days: newDays }} isSame={newDays === days} change={change}>
      <label>
        {t('retention.days')}
        <input
          type="number"
          min={1}
          max={36_500}
          step={1}
          value={text}
          aria-describedby="settings-retention-hint"
          onChange={event => setText(event.target.value)}
        />
      </label>
      <p id="settings-retention-hint" className="muted">
        {t('retention.hint')}
      </p>
    </SettingsForm>
  );
}
