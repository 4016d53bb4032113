/** Components for both channels and rules. */
import type { CallResult } from '../../../../protocol/client.ts';
import type { Call } from '../../../../protocol/call.ts';
import { Confirm } from '../../../ui/dialog.tsx';
import { Menu } from '../../../ui/menu.tsx';
import { showFailure } from '../../../ui/toast.tsx';
import { useNotifyT } from './texts.tsx';

interface EntryMenuProps {
  /** Names the channel or rule for screen readers. */
  readonly label: string;
  readonly enabled: boolean;
  readonly onEdit: () => void;
  readonly onToggle: () => void;
  readonly onDelete: () => void;
}

/** The actions on a channel or a rule. */
export function EntryMenu({ label, enabled, onEdit, onToggle, onDelete }: EntryMenuProps) {
  const t = useNotifyT();
  return (
    <Menu
      label={label}
      items={[
        { id: 'edit', text: t('notify.edit'), onSelect: onEdit },
        { id: 'toggle', text: t(enabled ? 'notify.disable' : 'notify.enable'), onSelect: onToggle },
        { id: 'delete', text: t('notify.delete'), isDanger: true, onSelect: onDelete },
      ]}
    />
  );
}

interface DeleteEntryProps {
  readonly title: string;
  readonly consequence: string;
  readonly remove: () => Promise<CallResult<Call>>;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Asks for confirmation before it deletes a channel or a rule. */
export function DeleteEntry({ title, consequence, remove, onDone, onClose }: DeleteEntryProps) {
  const t = useNotifyT();
  const confirm = async (): Promise<void> => {
    const answer = await remove();
    if (answer.ok) onDone();
    else showFailure(t, answer.failure);
  };
  return (
    <Confirm
      title={title}
      consequence={consequence}
      act={t('notify.delete')}
      onConfirm={() => void confirm()}
      onClose={onClose}
    />
  );
}
