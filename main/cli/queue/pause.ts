import { queueApi } from '../../../protocol/queue-api.ts';
import { textOf } from '../flags.ts';
import { readInput } from '../input.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { queueFacts } from './text.ts';

export const pause: RemoteSpec = {
  name: 'pause',
  description: 'Give nothing out until resumed; what runs goes on',
  shape: command => command.option('--note <text>', 'shown to everybody who looks at the queue'),
  async act(remote) {
    const body = readInput(queueApi.pause.body, { note: textOf(remote.flags, 'note') }, { note: '--note' });
    const answer = await remote.ask(queueApi.pause, { body });
    printOne(remote, { answer, facts: queueFacts(answer) });
  },
};

export const resume: RemoteSpec = {
  name: 'resume',
  description: 'Give jobs out again',
  async act(remote) {
    const answer = await remote.ask(queueApi.resume);
    printOne(remote, { answer, facts: queueFacts(answer) });
  },
};
