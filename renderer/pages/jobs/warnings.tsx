import type { JobWarning } from '../../../protocol/job.ts';
import { type MessageKey, useT } from '../../i18n/index.ts';

const keys: Readonly<Record<string, MessageKey>> = {
  outputs_old_worker: 'jobs.warning.oldWorker',
  outputs_off: 'jobs.warning.off',
  outputs_checkpoints_only: 'jobs.warning.checkpointsOnly',
  outputs_no_folder: 'jobs.warning.noFolder',
  outputs_own_folder: 'jobs.warning.ownFolder',
};

/** What the job's owner should know. Codes of a newer server are shown in its own words. */
export function Warnings({ warnings }: { readonly warnings: readonly JobWarning[] }) {
  const t = useT();
  return warnings.map(({ code, worker_name: worker, message }) => {
    const key = Object.hasOwn(keys, code) ? keys[code] : undefined;
    return (
      <p key={code} className="notice">
        <strong>{t('jobs.warning')}</strong>{' '}
        {key === undefined ? message : t(key, { worker, placeholder: '{output_dir}' })}
      </p>
    );
  });
}
