import { workersApi } from '../../../protocol/admin-api.ts';
import { numberOf, timeSpan } from '../flags.ts';
import { readInput } from '../input.ts';
import { warnOfLoopback } from '../loopback.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { findWorker, takesWorker } from './find.ts';
import { onceUntil, startFacts } from './issued.ts';

export const join: RemoteSpec = {
  name: 'join',
  description: 'Print a one-time join command for a worker. Its old token works until the command is used',
  shape: command =>
    takesWorker(command).option(
      '--expires <time>',
      'how long the command is valid, from 1m to 7d (default: 1h)',
      timeSpan,
    ),
  async act(remote, [word]) {
    const expires = numberOf(remote.flags, 'expires');
    const body = readInput(
      workersApi.createJoinToken.body,
      { ...(expires !== null && { expires_in_s: expires }) },
      { expires_in_s: '--expires' },
    );
    const { id } = await findWorker(remote, word);
    const answer = await remote.ask(workersApi.createJoinToken, { params: { id }, body });
    printOne(remote, {
      answer,
      facts: [
        ['Worker', `${answer.name} (${answer.worker_id})`],
        ...startFacts(answer),
        ['Valid', onceUntil(answer)],
      ],
    });
    warnOfLoopback(remote, answer.connection_command, `trainyard workers join ${id}`);
    remote.terminal.err('The command is shown only once. Save it now\n');
  },
};
