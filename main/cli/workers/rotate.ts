import { workersApi } from '../../../protocol/admin-api.ts';
import { isOn } from '../flags.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { findWorker, takesWorker } from './find.ts';
import { showIssued } from './issued.ts';

export const rotate: RemoteSpec = {
  name: 'rotate',
  description:
    'Give a worker a new token, and print this once how it joins again; the old one is dead at once',
  shape: command =>
    takesWorker(command)
      .option('--after-job', 'let the old token work until its job has ended')
      .option('--yes', 'do not ask'),
  async act(remote, [word]) {
    const worker = await findWorker(remote, word);
    const isLater = isOn(remote.flags, 'after-job');
    // A v1 worker stops its trainer on a 401 (docs/internals/worker-contract.md, section 3).
    const isLoss = !isLater && worker.current_job_id !== null && worker.protocol === 1;
    const when = isLater ? 'when its job has ended' : 'at once';
    const loss = isLoss
      ? ` It stops its job ${worker.current_job_id} then, as SimpleTuner's own worker does: --after-job spares it.`
      : '';
    await remote.confirm(`The token of ${worker.name} will be dead ${when}.${loss} Go on?`);
    const body = { mode: isLater ? 'after_job' : 'now' } as const;
    await showIssued(remote, await remote.ask(workersApi.rotateToken, { params: { id: worker.id }, body }));
  },
};
