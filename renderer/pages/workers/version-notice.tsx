import { pinFor } from '../../../protocol/settings-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { usePanel } from '../../app/context.ts';
import { useSettings } from '../../app/settings.ts';
import { useT } from '../../i18n/index.ts';
import { Copy } from '../../ui/copy.tsx';
import { updateCommand } from './join-commands.ts';
import { joinUrls } from './join-urls.ts';
import { agentStanding, useServerVersion } from './server-version.ts';
import { usePrograms } from './use-programs.ts';

/** Shown when the worker's version differs from the server's, with the command to update it. */
export function VersionNotice({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const server = useServerVersion();
  const standing = agentStanding(worker, server);
  if (standing === null) return null;
  return (
    <div className="worker-notice" role="note">
      <span>
        {t(`workers.version.${standing}`, { agent: worker.agent_version ?? '', server: server ?? '' })}
      </span>
      <UpdateCommand />
    </div>
  );
}

function UpdateCommand() {
  const t = useT();
  const { baseUrl } = usePanel();
  const { settings } = useSettings();
  const programs = usePrograms();
  if (programs === null) return null;
  const [{ url }] = joinUrls(settings, baseUrl);
  const command = updateCommand(
    { url, pin: settings && pinFor(settings.network, url) },
    programs.sha256.sums,
  );
  return (
    <span className="worker-notice-more">
      {t('workers.version.run')} <code className="mono">{command}</code>{' '}
      <Copy text={command} label={t('workers.issued.copyCommand')} onFailed={() => {}} />
    </span>
  );
}
