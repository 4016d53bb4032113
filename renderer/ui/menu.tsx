import { DropdownMenu } from 'radix-ui';
import { type FocusEvent, type RefObject, useRef, useState } from 'react';
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

/** How it was opened: where a key did it, the focus goes to the first item. */
type Opened = 'by pointer' | 'by key';

/**
 * Nothing where there is nothing to choose from; and before it is opened, nothing of it in the page beside its button: a table
 * has a menu in each of its rows.
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
        // A key that presses a button is told as a click without a place.
        onClick={({ detail }) =>
          setOpened(was => (was === null ? (detail === 0 ? 'by key' : 'by pointer') : null))
        }
        onKeyDown={event => {
          if (event.key !== 'ArrowDown') return;
          // Else it would go on to the next row.
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
  /** What was chosen begins with the focus where the menu was: a dialog gives it back to there. */
  const actAfterwards = (event: Event): void => {
    event.preventDefault();
    if (!isLeft.current) button.current?.focus();
    chosen.current?.();
    chosen.current = null;
  };
  /** Radix goes to the first item for those keys alone that it has heard itself. */
  const enter = ({ target, currentTarget }: FocusEvent<HTMLElement>): void => {
    if (target !== currentTarget || isEntered.current) return;
    isEntered.current = true;
    if (opened === 'by key')
      currentTarget.querySelector<HTMLElement>('[role=menuitem]:not([data-disabled])')?.focus();
  };
  return (
    <DropdownMenu.Root modal={false} open onOpenChange={isOpen => isOpen || onClose()}>
      {/* Where the menu stands: over its button. */}
      <DropdownMenu.Trigger asChild>
        <span className="menu-anchor" aria-hidden />
      </DropdownMenu.Trigger>
      {/* In the content of the page, where whoever goes from part to part finds it. */}
      <DropdownMenu.Portal container={document.getElementById('content')}>
        <DropdownMenu.Content
          className="menu"
          align="end"
          aria-label={label}
          aria-labelledby={undefined}
          onFocus={enter}
          onCloseAutoFocus={actAfterwards}
          onInteractOutside={event => {
            // The button closes it by itself; anything else has the focus from then on.
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
