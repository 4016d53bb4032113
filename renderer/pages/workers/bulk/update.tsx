import { useFleetTexts } from '../../../app/fleet-texts.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { UpdateCommand } from '../details/notices.tsx';
import { compareAgentVersion, useServerVersion } from '../server-version.ts';
import { Effects } from './effects.tsx';
import type { BulkQuestionProps } from './question.ts';

/** Shows the command that updates workers. The server cannot run it: rigs accept no commands for their own programs. */
export function BulkUpdate({ workers, onClose }: BulkQuestionProps) {
  const t = useFleetTexts();
  const server = useServerVersion();
  const older = workers.filter(worker => compareAgentVersion(worker, server) === 'older');
  return (
    <Dialog title={t('bulk.update.title', { count: older.length })} onClose={onClose}>
      <p>{t('bulk.update.explain', { server: server ?? '' })}</p>
      <UpdateCommand />
      <Effects
        workers={workers}
        effectOn={worker =>
          older.includes(worker)
            ? t('workers.agent.older', { version: worker.agent_version ?? '' })
            : t('bulk.update.current')
        }
      />
      <footer className="dialog-foot">
        <Button kind="primary" onClick={onClose}>
          {t('workers.done')}
        </Button>
      </footer>
    </Dialog>
  );
}
