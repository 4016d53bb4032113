import { queueApi } from '../../../protocol/queue-api.ts';
import { wholeNumber } from '../flags.ts';
import { readInput } from '../input.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { limitFacts } from './text.ts';

const none = 'none';
const limitOf = (text: string): number | typeof none => (text === none ? none : wholeNumber(text));

/** Null lifts the limit, and what is left out stays. */
const wanted = (flag: unknown): unknown => (flag === none ? null : flag);

export const limits: RemoteSpec = {
  name: 'limits',
  description: 'Show how many jobs run at once at most, or set it; what runs goes on',
  shape: command =>
    command
      .option('--max <count>', 'so many in all, or "none" for any number', limitOf)
      .option('--user-max <count>', 'so many of one user, or "none" for any number', limitOf),
  async act(remote) {
    const { max, 'user-max': userMax } = remote.flags;
    const isAsked = max === undefined && userMax === undefined;
    const body = readInput(
      queueApi.limit.body,
      { max_concurrent: wanted(max), user_max_concurrent: wanted(userMax) },
      { max_concurrent: '--max', user_max_concurrent: '--user-max' },
    );
    const answer = isAsked
      ? await remote.ask(queueApi.concurrency)
      : await remote.ask(queueApi.limit, { body });
    printOne(remote, { answer, facts: limitFacts(answer) });
  },
};
