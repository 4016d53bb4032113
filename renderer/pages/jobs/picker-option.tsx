import type { ReactNode } from 'react';

interface PickerOptionProps {
  readonly id: string;
  readonly name: string;
  readonly isActive: boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  /** Further facts about the option, below its name. */
  readonly children: ReactNode;
}

/** An option of a combobox. Mouse down selects it, because a click would arrive after the field has lost the focus. */
export function PickerOption({ id, name, isActive, isChosen, onChoose, children }: PickerOptionProps) {
  return (
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      data-active={isActive}
      className="picker-option"
      ref={element => {
        if (isActive) element?.scrollIntoView({ block: 'nearest' });
      }}
      onMouseDown={event => {
        event.preventDefault();
        onChoose();
      }}
    >
      <span className="picker-name">{name}</span>
      {children}
    </div>
  );
}
