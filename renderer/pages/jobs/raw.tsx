import { useState } from 'react';
import type { JobDetail } from '../../../protocol/job.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';

/** The job's JSON from the server. */
export function JobRaw({ job }: { readonly job: JobDetail }) {
  const t = useT();
  const [isCopied, setCopied] = useState(false);
  const text = JSON.stringify(job, null, 2);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <div className="card">
      {/* A page over plain HTTP from another machine has no clipboard. */}
      {'clipboard' in navigator && (
        <div>
          <Button onClick={() => void copy()}>{t(isCopied ? 'action.copied' : 'action.copy')}</Button>
        </div>
      )}
      <pre className="raw">{text}</pre>
    </div>
  );
}
