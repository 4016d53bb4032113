import { DropdownMenu } from 'radix-ui';
import { type FocusEvent, type RefObject, useRef, useState } from 'react';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

export interface MenuItem {
  readonly id: string;
  readonly text: string;
  readonly onSelect: () => void;
  readonly isDanger?: boolean;
  /** Why the item is disabled. The item stays visible, with the reason. */
  readonly reason?: string | null;
}

interface MenuProps {
  /** Names the object: "More for rig-3". */
  readonly label: string;
  readonly items: readonly MenuItem[];
}

/** How the menu was opened. After a key, the first item gets the focus. */
type Opened = 'by pointer' | 'by key';

/** Renders nothing without items. Until it opens, it adds only its button to the page, because every table row has a menu. */
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
        // A key press on a button arrives as a click with `detail` 0.
        onClick={({ detail }) =>
          setOpened(was => (was === null ? (detail === 0 ? 'by key' : 'by pointer') : null))
        }
        onKeyDown={event => {
          if (event.key !== 'ArrowDown') return;
          // Otherwise the table would move to the next row.
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
  const isLeft = useRef(false);
  const isEntered = useRef(false);
  /** Runs the chosen action after the focus is back on the button, so that a dialog returns the focus there. */
  const actAfterwards = (event: Event): void => {
    event.preventDefault();
    if (!isLeft.current) button.current?.focus();
    chosen.current?.();
    chosen.current = null;
  };
  /** Radix focuses the first item only for key presses that it handled itself. */
  const enter = ({ target, currentTarget }: FocusEvent<HTMLElement>): void => {
    if (target !== currentTarget || isEntered.current) return;
    isEntered.current = true;
    if (opened === 'by key')
      currentTarget.querySelector<HTMLElement>('[role=menuitem]:not([data-disabled])')?.focus();
  };
  return (
    <DropdownMenu.Root modal={false} open onOpenChange={isOpen => isOpen || onClose()}>
      {/* The anchor that positions the menu over its button. */}
      <DropdownMenu.Trigger asChild>
        <span className="menu-anchor" aria-hidden />
      </DropdownMenu.Trigger>
      {/* Keep the menu inside the page content, where users who navigate by landmarks find it. */}
      <DropdownMenu.Portal container={document.getElementById('content')}>
        <DropdownMenu.Content
          className="menu"
          align="end"
          aria-label={label}
          aria-labelledby={undefined}
          onFocus={enter}
          onCloseAutoFocus={actAfterwards}
          onInteractOutside={event => {
            // The button closes the menu itself; a click elsewhere moves the focus there.
            if (event.target instanceof Node && button.current?.contains(event.target) === true)
              event.preventDefault();
            else isLeft.current = true;
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
