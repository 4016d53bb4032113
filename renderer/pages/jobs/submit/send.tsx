import type { ReactNode } from 'react';
import { Button } from '../../../ui/button.tsx';
import { useSubmitT } from './texts.tsx';

interface SendProps {
  /** The error of the last submit; null if it did not fail. */
  readonly trouble: string | null;
  readonly isSending: boolean;
  /** Further buttons. */
  readonly children?: ReactNode;
}

/** The submit button of a form, with the error of the last submit. */
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
