import type { JobWarning } from '../../../protocol/job.ts';
import { type MessageKey, useT } from '../../i18n/index.ts';

const keys: Readonly<Record<string, MessageKey>> = {
  outputs_old_worker: 'jobs.warning.oldWorker',
  outputs_off: 'jobs.warning.off',
  outputs_checkpoints_only: 'jobs.warning.checkpointsOnly',
  outputs_no_folder: 'jobs.warning.noFolder',
  outputs_own_folder: 'jobs.warning.ownFolder',
  config_key_refused: 'jobs.warning.keyRefused',
  config_key_ignored: 'jobs.warning.keyIgnored',
};

type List = readonly JobWarning[];

const isAboutConfig = ({ key }: JobWarning): boolean => key !== undefined;

/** Returns warnings about config keys. They are known before a worker has the job. */
export const aboutConfig = (warnings: List): List => warnings.filter(isAboutConfig);
/** Returns warnings about files that a worker uploads or skips. */
export const aboutOutputs = (warnings: List): List => warnings.filter(each => !isAboutConfig(each));

/** Shows warnings about a job. Unknown warnings, from a newer server, appear in the server's words. */
export function Warnings({ warnings }: { readonly warnings: List }) {
  const t = useT();
  return warnings.map(warning => {
    const {
      code,
      worker_name: worker,
      trainer = '',
      key = '',
      nearest_key: nearest = null,
      message,
    } = warning;
    const textKey = Object.hasOwn(keys, code) ? keys[code] : undefined;
    const values = { worker, trainer, key, placeholder: '{output_dir}' };
    return (
      <p key={code + key} className="notice">
        <strong>{t('jobs.warning')}</strong> {textKey === undefined ? message : t(textKey, values)}
        {textKey !== undefined && nearest !== null && ` ${t('jobs.warning.nearestKey', { key: nearest })}`}
      </p>
    );
  });
}
