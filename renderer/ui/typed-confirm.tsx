import { type ReactNode, useState } from 'react';
import { Confirm, type ConfirmProps } from './dialog.tsx';

interface TypedConfirmProps extends Omit<ConfirmProps, 'isReady'> {
  /** Name of the object; surrounding spaces are ignored. */
  readonly name: string;
  /** Asks to type the name: "Type rig-3 to delete it". */
  readonly ask: ReactNode;
}

/** Confirms an irreversible action by typing a name, which does not happen by accident. */
export function TypedConfirm({ name, ask, children, ...rest }: TypedConfirmProps) {
  const [typed, setTyped] = useState('');
  return (
    <Confirm {...rest} isReady={typed.trim() === name.trim()}>
      {children}
      <label>
        {ask}
        <input
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={event => setTyped(event.target.value)}
        />
      </label>
    </Confirm>
  );
}
