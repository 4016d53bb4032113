import type { ReactNode } from 'react';

interface EmptyProps {
  /** Why the list is empty. */
  readonly why: string;
  /** What to do next. */
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
