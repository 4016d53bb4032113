import { useState } from 'react';
import { settingsApi, type SettingsView } from '../../../protocol/settings-api.ts';
import { Allowed } from '../../app/guarded.tsx';
import type { ChangeSettings } from '../../app/settings.tsx';
import { useT } from '../../i18n/index.ts';
import { SettingsForm } from './settings-form.tsx';

interface ElectricityProps {
  readonly electricity: SettingsView['electricity'];
  readonly change: ChangeSettings;
}

/** Sets the price of electricity, which determines the costs on the overview and on the pages of jobs. */
export function Electricity({ electricity, change }: ElectricityProps) {
  const t = useT();
  const { price_per_kwh: price, currency } = electricity;
  return (
    <section className="card" aria-labelledby="settings-electricity">
      <h2 id="settings-electricity">{t('electricity.title')}</h2>
      <p>
        {price === null
          ? t('electricity.none')
          : t('electricity.some', { price: `${price} ${currency ?? ''}`.trim() })}
      </p>
      <Allowed call={settingsApi.change}>
        <ElectricityForm key={JSON.stringify([price, currency])} electricity={electricity} change={change} />
      </Allowed>
      <p className="muted">{t('electricity.what')}</p>
    </section>
  );
}

function ElectricityForm({ electricity, change }: ElectricityProps) {
  const t = useT();
  const [price, setPrice] = useState(String(electricity.price_per_kwh ?? ''));
  const [currency, setCurrency] = useState(electricity.currency ?? '');
  const newSettings = {
    price_per_kwh: price.trim() === '' ? null : Number(price),
    currency: currency.trim() === '' ? null : currency.trim(),
  };
  const isSame =
    newSettings.price_per_kwh === electricity.price_per_kwh && newSettings.currency === electricity.currency;
  return (
    <SettingsForm wanted={{ electricity: newSettings }} isSame={isSame} change={change}>
      <label>
        {t('electricity.price')}
        <input
          type="number"
          min={0}
          max={1_000_000}
          step="any"
          value={price}
          onChange={({ target }) => setPrice(target.value)}
        />
      </label>
      <label>
        {t('electricity.currency')}
        <input maxLength={12} value={currency} onChange={({ target }) => setCurrency(target.value)} />
      </label>
    </SettingsForm>
  );
}
