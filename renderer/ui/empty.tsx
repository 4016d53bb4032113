import type { ReactNode } from 'react';

interface EmptyProps {
  /** Says why there is nothing to show. */
  readonly why: string;
  /** The next step for the user, such as a link or a button. */
  readonly children?: ReactNode;
}

export function Empty({ why, children }: EmptyProps) {
  return (
    <div className="empty">
      <p>{why}</p>
      {children}
    </div>
  );
}
