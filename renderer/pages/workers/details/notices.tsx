import type { WorkerView } from '../../../../protocol/worker.ts';
import { useT } from '../../../i18n/index.ts';
import { Icon } from '../../../ui/icon.tsx';
import { Time } from '../../../ui/time.tsx';
import { troubleTexts } from '../texts.ts';
import { pinFor } from '../../../../protocol/settings-api.ts';
import { usePanel } from '../../../app/context.ts';
import { useSettings } from '../../../app/settings.tsx';
import { Copy } from '../../../ui/button.tsx';
import { updateLine } from '../../../../protocol/join-line.ts';
import { joinUrls } from '../join/join-urls.ts';
import { usePrograms, compareAgentVersion, useServerVersion } from '../server-version.ts';

/** Shows banners about problems and pending changes of the worker. */
export function Notices({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const { drain, quarantine, duplicate } = worker;
  return (
    <>
      {drain !== null && (
        <p className="worker-notice" role="note">
          <span>
            {drain.reason === null
              ? t('workers.drain.says', { by: drain.by })
              : t('workers.drain.saysWhy', { by: drain.by, reason: drain.reason })}
          </span>
          <Since at={drain.since} />
          {drain.deadline !== null && (
            <span className="worker-notice-more">
              {t('workers.drain.deadline')} <Time at={drain.deadline} />
            </span>
          )}
        </p>
      )}
      {quarantine !== null && (
        <p className="worker-notice" role="note">
          <span>{t('workers.quarantine.says', { reason: quarantine.reason })}</span>
          <Since at={quarantine.since} />
          <span className="worker-notice-more">
            {t('workers.quarantine.retry')} <Time at={quarantine.retry_at} />
          </span>
        </p>
      )}
      {worker.gpu_troubles.length > 0 && (
        <div className="worker-notice worker-notice-gpus" role="note">
          {troubleTexts(t, worker).map(text => (
            <p key={text}>
              <Icon name="trouble" /> {text}
            </p>
          ))}
          {worker.status_reason === 'gpu_trouble' && <p>{t('workers.gpuTrouble.heldBack')}</p>}
        </div>
      )}
      {duplicate !== null && (
        <p className="worker-notice" role="note">
          <span>
            {t('workers.duplicate.says', {
              from:
                [duplicate.host, duplicate.address].filter(Boolean).join(', ') ||
                t('workers.duplicate.unnamed'),
            })}
          </span>
          <Since at={duplicate.at} />
        </p>
      )}
    </>
  );
}

const Since = ({ at }: { readonly at: string }) => (
  <span className="muted worker-notice-since">
    <Time at={at} />
  </span>
);

/** Shows that the worker's version is newer than the server's. `UpdateNotice` handles older versions. */
export function VersionNotice({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const server = useServerVersion();
  if (compareAgentVersion(worker, server) !== 'newer') return null;
  return (
    <div className="worker-notice" role="note">
      <span>{t('workers.version.newer', { agent: worker.agent_version ?? '', server: server ?? '' })}</span>
      <UpdateCommand />
    </div>
  );
}

export function UpdateCommand() {
  const t = useT();
  const { baseUrl } = usePanel();
  const { settings } = useSettings();
  const programs = usePrograms();
  if (programs === null) return null;
  const [{ url }] = joinUrls(settings, baseUrl);
  const command = updateLine({ url, pin: settings && pinFor(settings.network, url) }, programs.sha256.sums);
  return (
    <span className="worker-notice-more">
      {t('workers.version.run')} <code className="mono">{command}</code>{' '}
      <Copy text={command} label={t('workers.issued.copyCommand')} onFailed={() => {}} />
    </span>
  );
}
