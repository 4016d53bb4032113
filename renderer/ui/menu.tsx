import { DropdownMenu } from 'radix-ui';
import { type FocusEvent, type RefObject, useRef, useState } from 'react';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

export interface MenuItem {
  readonly id: string;
  readonly text: string;
  readonly onSelect: () => void;
  readonly isDanger?: boolean;
  /** Says why the item is disabled, below its text. */
  readonly reason?: string | null;
}

interface MenuProps {
  /** Names the object: "More for rig-3". */
  readonly label: string;
  readonly items: readonly MenuItem[];
}

/** The way in which the user opened the menu. If it was a key, the first item gets the focus. */
type Opened = 'by pointer' | 'by key';

/**
 * A button with a menu; renders nothing without items. Until the menu is opened, only the button is in the page, because
 * every row of a table has a menu.
 */
export function Menu({ label, items }: MenuProps) {
  const button = useRef<HTMLButtonElement>(null);
  const [opened, setOpened] = useState<Opened | null>(null);
  if (items.length === 0) return null;
  return (
    <span className="menu-place">
      <Button
        ref={button}
        kind="quiet"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={opened !== null}
        onClick={({ detail }) => {
          // A click that a key press caused has a `detail` of 0.
          const openedBy: Opened = detail === 0 ? 'by key' : 'by pointer';
          setOpened(was => (was === null ? openedBy : null));
        }}
        onKeyDown={event => {
          if (event.key !== 'ArrowDown') return;
          // Stop the arrow key here, because the table would move to the next row.
          event.stopPropagation();
          event.preventDefault();
          setOpened('by key');
        }}
      >
        <Icon name="more" />
      </Button>
      {opened !== null && (
        <OpenMenu
          label={label}
          items={items}
          button={button}
          opened={opened}
          onClose={() => setOpened(null)}
        />
      )}
    </span>
  );
}

interface OpenMenuProps extends MenuProps {
  readonly button: RefObject<HTMLButtonElement | null>;
  readonly opened: Opened;
  readonly onClose: () => void;
}

function OpenMenu({ label, items, button, opened, onClose }: OpenMenuProps) {
  const chosen = useRef<(() => void) | null>(null);
  /** True after a click elsewhere, which has moved the focus there. */
  const isFocusElsewhere = useRef(false);
  const wasEntered = useRef(false);
  /**
   * Runs the chosen action after the focus has returned to the button. A dialog that the action opens then returns the
   * focus to that button.
   */
  const actAfterwards = (event: Event): void => {
    event.preventDefault();
    if (!isFocusElsewhere.current) button.current?.focus();
    chosen.current?.();
    chosen.current = null;
  };
  /** Focuses the first item. Radix (the menu library) focuses this item only when Radix itself handled the key press. */
  const enter = ({ target, currentTarget }: FocusEvent<HTMLElement>): void => {
    if (target !== currentTarget || wasEntered.current) return;
    wasEntered.current = true;
    if (opened === 'by key')
      currentTarget.querySelector<HTMLElement>('[role=menuitem]:not([data-disabled])')?.focus();
  };
  return (
    <DropdownMenu.Root modal={false} open onOpenChange={isOpen => isOpen || onClose()}>
      {/* Radix positions the menu relative to this element, which covers the button. */}
      <DropdownMenu.Trigger asChild>
        <span className="menu-anchor" aria-hidden />
      </DropdownMenu.Trigger>
      {/* Keep the menu inside the page content, so that users who navigate by landmarks find it. */}
      <DropdownMenu.Portal container={document.getElementById('content')}>
        <DropdownMenu.Content
          className="menu"
          align="end"
          aria-label={label}
          aria-labelledby={undefined}
          onFocus={enter}
          onCloseAutoFocus={actAfterwards}
          onInteractOutside={event => {
            // The button closes the menu itself.
            if (event.target instanceof Node && button.current?.contains(event.target) === true)
              event.preventDefault();
            else isFocusElsewhere.current = true;
          }}
        >
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
