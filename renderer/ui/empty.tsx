import type { ReactNode } from 'react';

interface EmptyProps {
  /** Why there is nothing here. */
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
