import { DropdownMenu } from 'radix-ui';
import { useRef } from 'react';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

export interface MenuItem {
  readonly id: string;
  readonly text: string;
  readonly onSelect: () => void;
  readonly isDanger?: boolean;
  /** Why it can not be chosen now; it is shown all the same, with the reason. */
  readonly reason?: string | null;
}

interface MenuProps {
  /** Names the thing: "More for rig-3". */
  readonly label: string;
  readonly items: readonly MenuItem[];
}

export function Menu({ label, items }: MenuProps) {
  const trigger = useRef<HTMLButtonElement>(null);
  const chosen = useRef<(() => void) | null>(null);
  /** What was chosen begins with the focus where the menu was: a dialog gives it back to there. */
  const actAfterwards = (event: Event): void => {
    const act = chosen.current;
    if (act === null) return;
    chosen.current = null;
    event.preventDefault();
    trigger.current?.focus();
    act();
  };
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild ref={trigger}>
        <Button kind="quiet" aria-label={label}>
          <Icon name="more" />
        </Button>
      </DropdownMenu.Trigger>
      {/* In the content of the page, where whoever goes from part to part finds it. */}
      <DropdownMenu.Portal container={document.getElementById('content')}>
        <DropdownMenu.Content className="menu" align="end" onCloseAutoFocus={actAfterwards}>
          {items.map(({ id, text, onSelect, isDanger = false, reason = null }) => (
            <DropdownMenu.Item
              key={id}
              className="menu-item"
              data-danger={isDanger}
              disabled={reason !== null}
              onSelect={() => {
                chosen.current = onSelect;
              }}
            >
              {text}
              {reason !== null && <span className="muted">{reason}</span>}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
