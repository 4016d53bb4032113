import { InvalidArgumentError } from 'commander';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { Concurrency } from '../../../protocol/queue.ts';
import { readInput, wholeNumber } from '../flags.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { limitFacts } from './text.ts';

const none = 'none';
const inherited = 'default';
const parseLimit = (text: string): number | typeof none => (text === none ? none : wholeNumber(text));

type TeamLimits = Readonly<Record<string, number | typeof none | typeof inherited>>;

/** Parses `NAME=3`, `NAME=none` or `NAME=default`. The option can be repeated, once for each team. */
function teamLimit(text: string, before: TeamLimits = {}): TeamLimits {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError('Give a team and its limit, such as research=4.');
  const limit = text.slice(at + 1);
  return { ...before, [text.slice(0, at).trim()]: limit === inherited ? inherited : parseLimit(limit) };
}

function parseOnOff(text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new InvalidArgumentError('Give "on" or "off".');
  return text === 'on';
}

const parseUsers = (text: string): readonly string[] =>
  text === none ? [] : text.split(',').map(user => user.trim());

/** Returns null to remove a limit, undefined to keep it. */
const toLimit = (flag: unknown): unknown => (flag === none ? null : flag);

/** Applies the changes to the current team limits. Returns the limits of all teams. */
function teamLimitsWith(changes: object, { team_limits: limitsBefore }: Concurrency): unknown {
  const next = new Map<string, unknown>(Object.entries(limitsBefore));
  const entries: readonly (readonly [team: string, limit: unknown])[] = Object.entries(changes);
  for (const [team, limit] of entries) {
    if (limit === inherited) next.delete(team);
    else next.set(team, toLimit(limit));
  }
  return Object.fromEntries(next);
}

const flagNames = {
  max_concurrent: '--max',
  user_max_concurrent: '--user-max',
  team_max_concurrent: '--team-max',
  team_limits: '--team',
  enable_fair_share: '--fair-share',
  approval_required_for: '--approval',
  local_gpu_max_concurrent: '--local-gpus',
  local_job_max_concurrent: '--local-jobs',
} as const;

export const limits: RemoteSpec = {
  name: 'limits',
  description: 'Show or change the limits of the queue. Running jobs continue',
  shape: command =>
    command
      .option('--max <count>', 'maximum number of running jobs, or "none"', parseLimit)
      .option('--user-max <count>', 'maximum number of running jobs per user, or "none"', parseLimit)
      .option('--team-max <count>', 'maximum number of running jobs per team, or "none"', parseLimit)
      .option(
        '--team <name=count>',
        'maximum number of running jobs of a team, or "none", or "default" to use --team-max; repeatable',
        teamLimit,
      )
      .option(
        '--local-gpus <count>',
        'maximum number of GPUs that jobs use on the server\'s own machine, or "none"',
        parseLimit,
      )
      .option(
        '--local-jobs <count>',
        'maximum number of jobs on the server\'s own machine; 0 runs no jobs there, "none" sets no limit',
        parseLimit,
      )
      .option('--fair-share <on|off>', 'apply team limits and share workers between teams', parseOnOff)
      .option(
        '--approval <users>',
        'users whose new jobs need approval, separated by commas; "*" for all users who cannot manage the queue; or "none"',
        parseUsers,
      ),
  async act(remote) {
    const { flags } = remote;
    const isQuery = Object.values(flagNames).every(flag => flags[flag.slice(2)] === undefined);
    if (isQuery) {
      const answer = await remote.request(queueApi.concurrency);
      return printOne(remote, { answer, facts: limitFacts(answer) });
    }
    const { team: teams } = flags;
    const body = readInput(
      queueApi.limit.body,
      {
        max_concurrent: toLimit(flags['max']),
        user_max_concurrent: toLimit(flags['user-max']),
        team_max_concurrent: toLimit(flags['team-max']),
        ...(typeof teams === 'object' &&
          teams !== null && {
            team_limits: teamLimitsWith(teams, await remote.request(queueApi.concurrency)),
          }),
        enable_fair_share: flags['fair-share'],
        approval_required_for: flags['approval'],
        local_gpu_max_concurrent: toLimit(flags['local-gpus']),
        local_job_max_concurrent: toLimit(flags['local-jobs']),
      },
      flagNames,
    );
    const answer = await remote.request(queueApi.limit, { body });
    printOne(remote, { answer, facts: limitFacts(answer) });
  },
};
