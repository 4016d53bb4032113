import { Option } from 'commander';
import { NewWorker, workersApi } from '../../../protocol/admin-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import { WorkerType } from '../../../protocol/worker.ts';
import { CommandEnd } from '../failure.ts';
import { addLabel, isOn, numberOf, readInput, timeSpan } from '../flags.ts';
import { warnOfLoopback } from '../link.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import { type Fact, plain } from '../table.ts';
import { findWorker, withWorkerArgument } from './worker.ts';

/**
 * Prints a new token and its join command. Prints the token even when no join command can be created, because the server does
 * not show the token again.
 */
async function showIssued(remote: Remote, issued: ValueOf<typeof workersApi.create>): Promise<void> {
  const { name, worker_id: id, token, connection_command: connectionCommand } = issued;
  const { join, trouble } = await tryJoin(remote, id);
  printOne(remote, {
    answer: {
      ...issued,
      join_token: join?.join_token ?? null,
      join_expires_at: join?.expires_at ?? null,
      join_command: join?.connection_command ?? null,
      install_command: join?.install_command ?? null,
      short_command: join?.short_command ?? null,
    },
    facts: [
      ['Worker', `${name} (${id})`],
      ...(join === null ? [['Join command', connectionCommand] as const] : startFacts(join)),
      ['Valid', join === null ? null : onceUntil(join)],
      ["Token for SimpleTuner's own worker", token],
    ],
  });
  const { terminal } = remote;
  warnOfLoopback(remote, join?.connection_command ?? connectionCommand, `trainyard workers join ${id}`);
  if (trouble === null) return terminal.err('Both are shown only once. Save what you need now\n');
  terminal.err(`No join command was created: ${trouble}. To create one, run "trainyard workers join"\n`);
  terminal.err('The token is shown only once. Save it now\n');
}

type Joinable = ValueOf<typeof workersApi.createJoinToken>;

/**
 * Returns the commands for the rig: if available, one for a machine without the worker program, and always one for a machine with
 * the program.
 */
function startFacts({ install_command: install, short_command: short, ...rest }: Joinable): readonly Fact[] {
  const { connection_command: connectionCommand } = rest;
  return install === null
    ? [['Join command', connectionCommand]]
    : [
        ['Join command', short ?? install],
        ['If installed', connectionCommand],
      ];
}

const onceUntil = ({ expires_at: at }: Joinable): string => `once, until ${at}`;

async function tryJoin(remote: Remote, id: Joinable['worker_id']) {
  try {
    const join = await remote.request(workersApi.createJoinToken, { params: { id }, body: {} });
    return { join, trouble: null };
  } catch (cause) {
    if (!(cause instanceof CommandEnd)) throw cause;
    return { join: null, trouble: cause.message };
  }
}

export const create: RemoteSpec = {
  name: 'create',
  description: 'Create a worker and print its join command',
  examples: [
    'trainyard workers create rig-1',
    'trainyard workers create rig-2 --type ephemeral --label gpu_type=a100',
  ],
  shape: command =>
    command
      .argument('<name>', 'name of the worker')
      .addOption(
        new Option('--type <type>', 'kind of worker; ephemeral workers are removed after an hour offline')
          .choices(WorkerType.options)
          .default('persistent'),
      )
      .option('--label <key=value>', 'label that jobs can require; repeatable', addLabel),
  async act(remote, [name]) {
    const { type, label } = remote.flags;
    const body = readInput(
      NewWorker,
      { name, worker_type: type, labels: label },
      { name: 'NAME', worker_type: '--type', labels: '--label' },
    );
    const issued = await remote.request(workersApi.create, { body });
    await showIssued(remote, issued);
    await warnOfNamesakes(remote, issued);
  },
};

/**
 * Warns if another worker has the same name, because commands then need the id. Ignores errors, because the worker has already
 * been created.
 */
async function warnOfNamesakes(
  { call, terminal }: Remote,
  { name, worker_id: id }: ValueOf<typeof workersApi.create>,
): Promise<void> {
  const workers = await call(workersApi.list);
  const others = workers.ok ? workers.value.workers.filter(each => each.name === name && each.id !== id) : [];
  const [other] = others;
  if (other === undefined) return;
  terminal.err(
    `Warning: ${others.length + 1} workers are called ${plain(name)} now: ${[id, ...others.map(each => each.id)].join(', ')}. ` +
      `Commands need their ids. To rename one, run "trainyard workers rename ${id} NAME"; ` +
      `to delete one, "trainyard workers delete ${other.id}"\n`,
  );
}

export const join: RemoteSpec = {
  name: 'join',
  description:
    'Print a one-time join command for a worker, such as for another machine. Its old token works until the command is used',
  shape: command =>
    withWorkerArgument(command).option(
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
    const answer = await remote.request(workersApi.createJoinToken, { params: { id }, body });
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

export const rotate: RemoteSpec = {
  name: 'rotate',
  description:
    'Replace the token of a worker, such as a leaked one, and print its new join command. The old token stops working immediately',
  shape: command =>
    withWorkerArgument(command)
      .option('--after-job', 'keep the old token valid until the current job ends')
      .option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const worker = await findWorker(remote, word);
    const isLater = isOn(remote.flags, 'after-job');
    // A worker of SimpleTuner (v1) stops its trainer on a 401 (docs/internals/worker-contract.md, section 3).
    const isLoss = !isLater && worker.current_job_id !== null && worker.protocol === 1;
    const when = isLater ? 'when its job ends' : 'now';
    const loss = isLoss
      ? ` SimpleTuner's own worker then stops its job ${worker.current_job_id}. To avoid this, use --after-job.`
      : '';
    await remote.confirm(`The token of ${worker.name} stops working ${when}.${loss} Continue?`);
    const body = { mode: isLater ? 'after_job' : 'now' } as const;
    await showIssued(
      remote,
      await remote.request(workersApi.rotateToken, { params: { id: worker.id }, body }),
    );
  },
};
