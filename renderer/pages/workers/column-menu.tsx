import { DropdownMenu } from 'radix-ui';
import { useFleetTexts } from '../../app/fleet-texts.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { defaultColumns, isFixed } from './column-choice.ts';

interface ColumnMenuProps {
  readonly columns: readonly { readonly id: string; readonly title: string }[];
  readonly chosen: readonly string[];
  readonly onChoose: (ids: readonly string[]) => void;
}

/** A menu that shows and hides columns of the table. It stays open, so that users can change several columns. */
export function ColumnMenu({ columns, chosen, onChoose }: ColumnMenuProps) {
  const t = useFleetTexts();
  const toggle = (id: string): void =>
    onChoose(chosen.includes(id) ? chosen.filter(each => each !== id) : [...chosen, id]);
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>
        <Button>{t('tools.columns')}</Button>
      </DropdownMenu.Trigger>
      {/* Keep the menu inside the page content, so that users who navigate by landmarks find it. */}
      <DropdownMenu.Portal container={document.getElementById('content')}>
        <DropdownMenu.Content className="menu" align="end">
          {columns
            .filter(({ id }) => !isFixed(id))
            .map(({ id, title }) => (
              <DropdownMenu.CheckboxItem
                key={id}
                className="menu-item column-item"
                checked={chosen.includes(id)}
                onCheckedChange={() => toggle(id)}
                onSelect={event => event.preventDefault()}
              >
                <span className="column-mark">
                  <DropdownMenu.ItemIndicator>
                    <Icon name="completed" />
                  </DropdownMenu.ItemIndicator>
                </span>
                {title}
              </DropdownMenu.CheckboxItem>
            ))}
          <DropdownMenu.Separator className="column-line" />
          <DropdownMenu.Item className="menu-item" onSelect={() => onChoose(defaultColumns)}>
            {t('tools.columns.default')}
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
