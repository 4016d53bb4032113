import type { LaunchOutcome, LaunchState } from '../../../protocol/pool.ts';
import type { WallMs } from '../model.ts';
import type { EndReason, Launch } from '../pool-model.ts';
import type { Sighting } from '../ports/engines.ts';

/*
 *            submit              accept            sight              join
 *   wanted ---------> submitting ------> waiting ---------> running ---------> joined
 *     ^                  |   ^                |                |                 |
 *     |  miss            |   |                +------- end ----+------ end ------+
 *     +---- unclear <----+   |                                 v                 |  leave
 *                unanswered  +-- refuse (temporary)         ending <-------------+
 *
 *   any state -- sight: the engine reports its end, or three lists in a row do not contain it --> ended
 */

/** The events in the life of a launch. */
export type LaunchEvent =
  /** The order of the launch is about to be sent to the engine. */
  | { readonly type: 'submit' }
  | { readonly type: 'accept'; readonly engineId: string }
  | { readonly type: 'refuse'; readonly scope: 'permanent' | 'temporary'; readonly message: string }
  /** No answer arrived, or this process was restarted: the engine may have accepted the order. */
  | { readonly type: 'unanswered'; readonly message: string }
  /** A list of the engine contains the launch. */
  | { readonly type: 'sight'; readonly sighting: Sighting }
  /** A complete list of the engine, requested at `listedAt`, does not contain the launch. */
  | { readonly type: 'miss'; readonly listedAt: WallMs }
  /** The worker of the launch registered. */
  | { readonly type: 'join' }
  /** The worker of the launch left the fleet. */
  | { readonly type: 'leave' }
  /** The orchestrator ends the launch. */
  | { readonly type: 'end'; readonly why: EndReason; readonly detail: string | null }
  /** The engine accepted the request to end the launch. */
  | { readonly type: 'end_asked' };

type EventOf<T extends LaunchEvent['type']> = Extract<LaunchEvent, { type: T }>;
/**
 * Returns the launch after the event; the same object when nothing changes. Declared as a method, so that a rule can have
 * narrower parameter types than the call in `advanceLaunch`.
 */
type Rule<T extends LaunchEvent['type']> = {
  decide(launch: Launch, event: EventOf<T>, now: WallMs): Launch;
}['decide'];
type Row = { readonly [T in LaunchEvent['type']]: Rule<T> };

/**
 * Time in ms for which an unanswered submission may still reach the engine. Only a list that was requested after this time
 * can show that the launch does not exist. Then the submission is repeated.
 *
 * @internal
 */
export const unclearMs = 30_000;
/** A launch has ended if this many complete lists in a row do not contain it. @internal */
export const maxMissing = 3;

const same = (launch: Launch): Launch => launch;

const outcomeOfReason: { readonly [R in EndReason]: LaunchOutcome } = {
  not_needed: 'not_needed',
  idle: 'finished',
  left: 'finished',
  test_over: 'finished',
  cancelled: 'cancelled',
  never_joined: 'never_joined',
};

const end = (launch: Launch, outcome: LaunchOutcome, now: WallMs, detail = launch.detail): Launch => ({
  ...launch,
  state: 'ended',
  outcome,
  detail,
  reason: null,
  expectedStart: null,
  endedAt: now,
});

/** Returns the outcome of a launch that ended without a request of the orchestrator, from the engine's report. */
function outcomeOfExit({ joinedAt }: Launch, { exit }: Sighting): LaunchOutcome {
  switch (exit) {
    case 'completed':
      return joinedAt === null ? 'never_joined' : 'finished';
    case 'preempted':
    case 'timeout':
    case 'cancelled':
      return exit;
    case 'failed':
    case 'node_failed':
      return 'failed';
    case null:
      return 'unknown';
  }
}

const exitDetail = ({ exit, engineId }: Sighting): string | null =>
  exit === null || exit === 'completed'
    ? null
    : `The engine reports ${engineId} as ${exit.replace('_', ' ')}`;

/** Adds the facts that the engine reports. Times that the engine no longer reports keep their last value. */
function withSighting(launch: Launch, { sighting }: EventOf<'sight'>, now: WallMs): Launch {
  const { engineId, reason, expectedStart, nodes } = sighting;
  const sighted: Launch = {
    ...launch,
    engineId,
    // The engine has the launch, even if an earlier list did not contain it.
    submittedAt: launch.submittedAt ?? now,
    acceptedAt: launch.acceptedAt ?? now,
    startedAt: sighting.startedAt ?? launch.startedAt,
    endsAt: sighting.endsAt ?? launch.endsAt,
    machines: nodes.length > 0 ? nodes : launch.machines,
    missing: 0,
  };
  if (sighting.state === 'waiting') return { ...sighted, reason, expectedStart };
  return { ...sighted, reason: null, expectedStart: null, startedAt: sighted.startedAt ?? now };
}

const sight: Rule<'sight'> = (launch, event, now) => {
  const { sighting } = event;
  const sighted = withSighting(launch, event, now);
  if (sighting.state === 'ended')
    return end(sighted, outcomeOfExit(sighted, sighting), now, exitDetail(sighting) ?? sighted.detail);
  return { ...sighted, state: sighting.state };
};

/** Keeps the state `joined`: the engine may still report an earlier state although the worker has registered. */
const sightJoined: Rule<'sight'> = (launch, event, now) => {
  const next = sight(launch, event, now);
  return next.state === 'ended' ? next : { ...next, state: launch.state, reason: null, expectedStart: null };
};

const sightEnding: Rule<'sight'> = (launch, event, now) => {
  const sighted = withSighting(launch, event, now);
  if (event.sighting.state !== 'ended') return sighted;
  return end(sighted, endingOutcome(sighted, event.sighting), now);
};

/** The requested end decides the outcome, unless the engine took the machine away first. */
function endingOutcome(launch: Launch, { exit }: Sighting): LaunchOutcome {
  return exit === 'preempted' || exit === 'timeout' ? exit : requestedOutcome(launch);
}

const requestedOutcome = ({ endReason }: Launch): LaunchOutcome =>
  endReason === null ? 'unknown' : outcomeOfReason[endReason];

/** Counts a list without the launch. After `maxMissing` such lists in a row, ends the launch with this outcome. */
function missed(launch: Launch, { listedAt }: EventOf<'miss'>, now: WallMs, outcome: LaunchOutcome): Launch {
  if (mayStillArrive(launch, listedAt)) return launch;
  const missing = launch.missing + 1;
  return missing < maxMissing ? { ...launch, missing } : end({ ...launch, missing }, outcome, now);
}

/** Whether the launch may have reached the engine after the engine made the list. */
const mayStillArrive = ({ acceptedAt, submittedAt }: Launch, listedAt: WallMs): boolean =>
  listedAt < (acceptedAt ?? (submittedAt ?? 0) + unclearMs);

const miss: Rule<'miss'> = (launch, event, now) => missed(launch, event, now, 'unknown');

const missEnding: Rule<'miss'> = (launch, event, now) => missed(launch, event, now, requestedOutcome(launch));

/** The engine does not have the launch, so the order can be submitted again. */
const missUnclear: Rule<'miss'> = (launch, { listedAt }) =>
  mayStillArrive(launch, listedAt) ? launch : { ...launch, state: 'wanted', submittedAt: null };

const submit: Rule<'submit'> = (launch, _event, now) => ({
  ...launch,
  state: 'submitting',
  detail: null,
  submittedAt: now,
});

const accepted: Rule<'accept'> = (launch, { engineId }, now) => ({
  ...launch,
  engineId,
  detail: null,
  acceptedAt: launch.acceptedAt ?? now,
});
const accept: Rule<'accept'> = (launch, event, now) => ({
  ...accepted(launch, event, now),
  state: 'waiting',
});

const refuse: Rule<'refuse'> = (launch, { scope, message }, now) =>
  scope === 'permanent'
    ? end(launch, 'rejected', now, message)
    : { ...launch, state: 'wanted', detail: message, submittedAt: null };

/** The engine started nothing, so the launch has ended. */
const refuseEnding: Rule<'refuse'> = (launch, _event, now) => end(launch, requestedOutcome(launch), now);

const unanswered: Rule<'unanswered'> = (launch, { message }, now) => ({
  ...launch,
  state: 'unclear',
  detail: message,
  submittedAt: now,
});

const join: Rule<'join'> = (launch, _event, now) => ({
  ...launch,
  state: 'joined',
  detail: null,
  reason: null,
  expectedStart: null,
  submittedAt: launch.submittedAt ?? now,
  startedAt: launch.startedAt ?? now,
  joinedAt: launch.joinedAt ?? now,
  missing: 0,
});

/** A worker that registers while its launch is ending does not stop the end. */
const joinEnding: Rule<'join'> = (launch, _event, now) => ({
  ...launch,
  startedAt: launch.startedAt ?? now,
  joinedAt: launch.joinedAt ?? now,
});

const beginEnd: Rule<'end'> = (launch, { why, detail }) => ({
  ...launch,
  state: 'ending',
  endReason: why,
  detail,
});

/** Ends the launch immediately: the engine does not have it, because the order was not sent yet or was refused. */
const dropWanted: Rule<'end'> = (launch, { why, detail }, now) =>
  end({ ...launch, endReason: why }, outcomeOfReason[why], now, detail);

const leave: Rule<'leave'> = launch => ({ ...launch, state: 'ending', endReason: 'left', detail: null });

const endAsked: Rule<'end_asked'> = (launch, _event, now) => ({
  ...launch,
  endAskedAt: launch.endAskedAt ?? now,
});

const open = {
  submit: same,
  accept,
  refuse,
  unanswered: same,
  sight,
  miss,
  join,
  leave: same,
  end: beginEnd,
  end_asked: same,
} as const;

/** A rule for every state and event. A missing rule does not compile. */
const table: { readonly [S in LaunchState]: Row } = {
  wanted: { ...open, submit, accept: same, refuse: same, miss: same, end: dropWanted },
  submitting: { ...open, unanswered, miss: same },
  unclear: { ...open, miss: missUnclear },
  waiting: { ...open, accept: same, refuse: same },
  running: { ...open, accept: same, refuse: same },
  joined: { ...open, accept: accepted, refuse: same, sight: sightJoined, join: same, leave },
  ending: {
    ...open,
    accept: accepted,
    refuse: refuseEnding,
    sight: sightEnding,
    miss: missEnding,
    join: joinEnding,
    end: same,
    end_asked: endAsked,
  },
  ended: {
    ...open,
    accept: same,
    refuse: same,
    sight: same,
    miss: same,
    join: same,
    end: same,
  },
};

/** Returns the launch after an event; the same object when nothing changes. Every change goes through this function. */
export function advanceLaunch(launch: Launch, event: LaunchEvent, now: WallMs): Launch {
  // Type-safe: the event type that selects the rule also narrows the rule's parameter.
  const rule: Rule<LaunchEvent['type']> = table[launch.state][event.type];
  const next = rule(launch, event, now);
  // Returning the same object avoids a write: each list of the engine reports every launch, mostly without a change.
  return JSON.stringify(next) === JSON.stringify(launch) ? launch : next;
}
