import type { ReactNode } from 'react';
import { Button } from '../../../ui/button.tsx';
import { useSubmitT } from './texts.tsx';

interface SendProps {
  /** Why the last try failed; null if it did not. */
  readonly trouble: string | null;
  readonly isSending: boolean;
  /** Further buttons. */
  readonly children?: ReactNode;
}

/** The button that submits the form around it, and the reason of a failure. */
export function Send({ trouble, isSending, children }: SendProps) {
  const t = useSubmitT();
  return (
    <>
      {trouble !== null && (
        <p className="trouble" role="alert">
          {trouble}
        </p>
      )}
      <div className="answer-foot">
        <Button kind="primary" type="submit" disabled={isSending}>
          {t(isSending ? 'jobs.submit.sending' : 'jobs.submit.send')}
        </Button>
        {children}
      </div>
    </>
  );
}
