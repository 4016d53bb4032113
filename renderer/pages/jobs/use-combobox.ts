import { type KeyboardEvent, useId, useState } from 'react';

/**
 * State and key handling of a text field with a list of matches (https://www.w3.org/WAI/ARIA/apg/patterns/combobox).
 * The focus stays in the field. Arrow keys move in the list, Enter selects, Escape closes.
 */
export function useCombobox(
  options: readonly string[],
  choose: (option: string) => void,
  onOpen: () => void,
) {
  const listId = useId();
  const [isWanted, setWanted] = useState(false);
  const [at, setAt] = useState(-1);
  const isOpen = isWanted && options.length > 0;
  const open = (): void => {
    if (!isWanted) onOpen();
    setWanted(true);
  };
  const close = (): void => {
    setAt(-1);
    setWanted(false);
  };
  const take = (option: string): void => {
    close();
    choose(option);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const active = options[at];
    if (move !== undefined && options.length > 0) {
      open();
      // Without an active option, the up arrow selects the last option.
      const from = at === -1 && move === -1 ? 0 : at;
      setAt((from + move + options.length) % options.length);
    } else if (event.key === 'Escape' && isOpen) close();
    else if (event.key === 'Enter' && isOpen && active !== undefined) take(active);
    else return;
    event.preventDefault();
  };
  return {
    isOpen,
    take,
    field: {
      role: 'combobox',
      'aria-autocomplete': 'list',
      'aria-expanded': isOpen,
      'aria-controls': listId,
      'aria-activedescendant': isOpen && at >= 0 ? `${listId}-${at}` : undefined,
      autoComplete: 'off',
      spellCheck: false,
      onFocus: open,
      onClick: open,
      onBlur: close,
      onKeyDown,
    },
    list: { id: listId, role: 'listbox', hidden: !isOpen },
    option: (index: number) => ({ id: `${listId}-${index}`, isActive: index === at }),
    /** Call this after the text has changed. It deselects the active option, because the list has new entries. */
    rewrite(): void {
      setAt(-1);
      open();
    },
  } as const;
}
