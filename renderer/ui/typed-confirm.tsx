import { type ReactNode, useState } from 'react';
import { Confirm, type ConfirmProps } from './dialog.tsx';

interface TypedConfirmProps extends Omit<ConfirmProps, 'isReady'> {
  /** Of the thing; spaces around it do not count. */
  readonly name: string;
  /** Says to type it: "Type rig-3 to delete it". */
  readonly ask: ReactNode;
}

/** Before something is lost for good: nobody types a name by accident. */
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
