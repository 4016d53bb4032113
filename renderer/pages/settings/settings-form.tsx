import { type ReactNode, useRef } from 'react';
import type { ChangeSettings, SettingsChange } from '../../app/settings.tsx';
import { useT } from '../../i18n/index.ts';
import { Button, Copy } from '../../ui/button.tsx';
import { showToast, showFailure } from '../../ui/toast.tsx';

interface SettingsFormProps {
  /** The change that the form would save. */
  readonly wanted: SettingsChange;
  /** True if the values equal the saved settings, so that there is nothing to save. */
  readonly isSame: boolean;
  readonly change: ChangeSettings;
  /** The input fields. The parent component keeps their values. */
  readonly children: ReactNode;
}

/** A form for settings that take effect together when the user saves them. */
export function SettingsForm({ wanted, isSame, change, children }: SettingsFormProps) {
  const t = useT();
  const save = async (): Promise<void> => {
    const answer = await change(wanted);
    if (answer.ok) showToast(t('settings.saved'));
    else showFailure(t, answer.failure);
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

interface PathLineProps {
  readonly text: string;
  readonly note?: string | null;
}

/** A path or URL with a copy button. */
export function PathLine({ text, note = null }: PathLineProps) {
  const t = useT();
  const shown = useRef<HTMLElement>(null);
  const select = (): void => {
    if (shown.current !== null) getSelection()?.selectAllChildren(shown.current);
    showToast(t('workers.copy.byHand'));
  };
  return (
    <span className="settings-line">
      <code ref={shown} className="mono">
        {text}
      </code>
      {note !== null && <span className="muted">{note}</span>}
      <Copy text={text} label={t('settings.copy', { text })} onFailed={select} />
    </span>
  );
}
