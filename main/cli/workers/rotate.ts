import { workersApi } from '../../../protocol/admin-api.ts';
import { isOn } from '../flags.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { findWorker, takesWorker } from './find.ts';
import { showIssued } from './issued.ts';

export const rotate: RemoteSpec = {
  name: 'rotate',
  description: 'Replace the token of a worker, and print its new join command. The old token stops working',
  shape: command =>
    takesWorker(command)
      .option('--after-job', 'keep the old token valid until the current job ends')
      .option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const worker = await findWorker(remote, word);
    const isLater = isOn(remote.flags, 'after-job');
    // A v1 worker stops its trainer on a 401 (docs/internals/worker-contract.md, section 3).
    const isLoss = !isLater && worker.current_job_id !== null && worker.protocol === 1;
    const when = isLater ? 'when its job ends' : 'now';
    const loss = isLoss
      ? ` SimpleTuner's own worker then stops its job ${worker.current_job_id}. To avoid this, use --after-job.`
      : '';
    await remote.confirm(`The token of ${worker.name} stops working ${when}.${loss} Continue?`);
    const body = { mode: isLater ? 'after_job' : 'now' } as const;
    await showIssued(remote, await remote.ask(workersApi.rotateToken, { params: { id: worker.id }, body }));
  },
};
