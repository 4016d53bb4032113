import type { Command } from 'commander';
import { workerCommand } from '../../agent/cli/command.ts';
import { version } from '../../protocol/version.ts';
import { withExamples } from './flags.ts';
import type { Invocation } from './invocation.ts';

const examples = [
  'trainyard worker --orchestrator-url http://127.0.0.1:8001 --worker-token-file token --persistent',
  'trainyard worker --config worker.json --gpus 0,1 --trainer simpletuner=/opt/simpletuner/.venv',
];

/** Creates the command that runs the agent from this program. Rigs usually get the agent as a separate program. */
export function localWorkerCommand({ env, terminal, exit, ownCommand, onSignal }: Invocation): Command {
  const worker = workerCommand({
    env,
    exit,
    onSignal,
    version,
    ownCommand: [...ownCommand, 'worker'],
    out: terminal.out,
    err: terminal.err,
  });
  return withExamples(worker, examples);
}
