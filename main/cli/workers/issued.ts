import { workersApi } from '../../../protocol/admin-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import { CommandEnd } from '../failure.ts';
import { warnOfLoopback } from '../loopback.ts';
import { printOne } from '../output.ts';
import type { Remote } from '../remote.ts';
import type { Fact } from '../table.ts';

/**
 * Prints a new token, and a join command if possible. The token is printed even when the join command fails, because it cannot be retrieved
 * again.
 */
export async function showIssued(remote: Remote, issued: ValueOf<typeof workersApi.create>): Promise<void> {
  const { name, worker_id: id, token, connection_command: lasting } = issued;
  const { join, trouble } = await tryJoin(remote, id);
  printOne(remote, {
    answer: {
      ...issued,
      join_token: join?.join_token ?? null,
      join_expires_at: join?.expires_at ?? null,
      join_command: join?.connection_command ?? null,
      install_command: join?.install_command ?? null,
    },
    facts: [
      ['Worker', `${name} (${id})`],
      ...(join === null ? [['Join command', lasting] as const] : startFacts(join)),
      ['Valid', join === null ? null : onceUntil(join)],
      ["Token for SimpleTuner's own worker", token],
    ],
  });
  const { terminal } = remote;
  warnOfLoopback(remote, join?.connection_command ?? lasting, `trainyard workers join ${id}`);
  if (trouble === null) return terminal.err('Both are shown only once. Save what you need now\n');
  terminal.err(`No join command was created: ${trouble}. To create one, run "trainyard workers join"\n`);
  terminal.err('The token is shown only once. Save it now\n');
}

type Joinable = ValueOf<typeof workersApi.createJoinToken>;

/** The commands to paste on the rig: one for a machine without the program, if available, and one for a machine that has it. */
export const startFacts = ({
  install_command: install,
  connection_command: plain,
}: Joinable): readonly Fact[] =>
  install === null
    ? [['Join command', plain]]
    : [
        ['Join command', install],
        ['If installed', plain],
      ];

export const onceUntil = ({ expires_at: at }: Joinable): string => `once, until ${at}`;

async function tryJoin(remote: Remote, id: Joinable['worker_id']) {
  try {
    const join = await remote.ask(workersApi.createJoinToken, { params: { id }, body: {} });
    return { join, trouble: null };
  } catch (cause) {
    if (!(cause instanceof CommandEnd)) throw cause;
    return { join: null, trouble: cause.message };
  }
}
