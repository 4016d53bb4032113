import type { WaitingReason } from '../../../protocol/pool.ts';

/** Maps the names of reasons in Slurm's src/common/job_state_reason.c. */
const kinds: Readonly<Record<string, WaitingReason['kind']>> = {
  Resources: 'resources',
  Priority: 'resources',
  ReqNodeNotAvail: 'resources',
  NodeDown: 'resources',
  PartitionDown: 'resources',
  PartitionInactive: 'resources',
  PartitionConfig: 'resources',
  Licenses: 'resources',
  Cleaning: 'resources',
  Prolog: 'resources',
  SchedDefer: 'resources',
  NvidiaImexChannels: 'resources',
  BurstBufferResources: 'resources',
  BurstBufferStageIn: 'resources',
  MaxPoweredUpNodes: 'resources',
  MpiPortsBusy: 'resources',
  FrontEndDown: 'resources',
  PartitionNodeLimit: 'quota',
  PartitionTimeLimit: 'quota',
  AccountingPolicy: 'quota',
  MaxMemPerLimit: 'quota',
  JobArrayTaskLimit: 'quota',
  JobHeldAdmin: 'held',
  JobHeldUser: 'held',
  JobHoldMaxRequeue: 'held',
  BeginTime: 'held',
  Reservation: 'held',
  ReservationDeleted: 'held',
  Dependency: 'dependency',
  DependencyNeverSatisfied: 'dependency',
};

/** Returns the kind of a reason, such as `Resources` or `ReqNodeNotAvail, UnavailableNodes:rig1`. */
export function reasonKind(reason: string): WaitingReason['kind'] {
  const word = /^\w*/.exec(reason)?.[0] ?? '';
  const kind = kinds[word];
  if (kind !== undefined) return kind;
  // Slurm has more than a hundred reasons for limits of accounts and QOS. `QOSNotAllowed` is not a limit.
  if (/^(?:QOS(?!NotAllowed)|Assoc|Max\w+Per(?:Account|User)$)/.test(word)) return 'quota';
  // Slurm prints a sentence for this reason.
  if (reason.startsWith('Nodes required for job are DOWN')) return 'resources';
  if (reason.endsWith('requeued held')) return 'held';
  return 'other';
}
