import type { ReactNode } from 'react';
import type { ChangeSettings, SettingsChange } from '../../app/settings.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { tell, tellFailure } from '../../ui/toast.tsx';

interface SettingsFormProps {
  /** What becomes so when it is saved. */
  readonly wanted: SettingsChange;
  /** It is so by now. */
  readonly isSame: boolean;
  readonly change: ChangeSettings;
  /** The fields; what they hold is the page's. */
  readonly children: ReactNode;
}

/** Settings that are typed, and take effect together. */
export function SettingsForm({ wanted, isSame, change, children }: SettingsFormProps) {
  const t = useT();
  const save = async (): Promise<void> => {
    const answer = await change(wanted);
    if (answer.ok) tell(t('settings.saved'));
    else tellFailure(t, answer.failure);
  };
  return (
    <form
      className="settings-form"
      onSubmit={event => {
        event.preventDefault();
        void save();
      }}
    >
      {children}
      <div>
        <Button type="submit" disabled={isSame}>
          {t('settings.save')}
        </Button>
      </div>
    </form>
  );
}
