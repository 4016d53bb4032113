/** A bug that a developer could make, as exact changes to the product's source. */
export interface Plant {
  readonly name: string;
  readonly changes: readonly Change[];
  /** `pools`: only simulations with pools can find the bug. */
  readonly world?: 'pools';
}

interface Change {
  /** Relative to the root of the repository. */
  readonly file: string;
  /** The text to replace. It must occur exactly once in the file. */
  readonly text: string;
  readonly instead: string;
}

/** @internal */
export const orchestrator = (file: string, text: string, instead: string): Change => ({
  file: `main/orchestrator/${file}.ts`,
  text,
  instead,
});
const schema = (text: string, instead: string): Change => ({
  file: 'main/store/db/migrations.ts',
  text,
  instead,
});
const agent = (file: string, text: string, instead: string): Change => ({
  file: `agent/${file}.ts`,
  text,
  instead,
});

/** The simulation must find each of these bugs. A missed bug shows a gap in the checks. */
export const plants: readonly Plant[] = [
  {
    name: 'an offer is never repeated',
    changes: [orchestrator('rules/recovery', 'times.repeatOfferMs[offer.sent - 1]', 'undefined')],
  },
  {
    name: 'a parent counts as ended while it runs',
    changes: [
      orchestrator(
        'commands/jobs/dependencies',
        "on === 'end' ? 'endedAt' in job : job.status === 'completed'",
        "on === 'end' ? true : job.status !== 'pending'",
      ),
    ],
  },
  {
    name: 'a completed parent releases no child',
    changes: [
      orchestrator(
        'commands/transitions',
        "if ('endedAt' in next) releaseChildren",
        "if ('endedAt' in next && next.status !== 'completed') releaseChildren",
      ),
    ],
  },
  {
    name: 'the takeover happens too early',
    changes: [orchestrator('rules/times', 'takeoverMs: t + t / 3,', 'takeoverMs: t + t / 12,')],
  },
  {
    name: 'a report of an older attempt is accepted',
    changes: [
      orchestrator(
        'commands/jobs/reports',
        'if (report.attempt_id && report.attempt_id !== attempt.id) {',
        'if (report.attempt_id === "") {',
      ),
    ],
  },
  {
    name: 'a job that resumes after a restart loses a retry',
    changes: [
      orchestrator(
        'rules/job-lifecycle',
        "    run: go('running'),\n    back: go('running'),\n    silence: stay,",
        "    run: go('running'),\n    back: (job, event, now) => go('running')({ ...job, retriesUsed: job.retriesUsed + 1 }, event, now),\n    silence: stay,",
      ),
    ],
  },
  {
    name: 'workers get no grace period after a start of the orchestrator',
    changes: [
      orchestrator(
        'loops/health',
        'core.connections.grant(id, now);',
        'core.connections.grant(id, now - core.times.takeoverMs);',
      ),
    ],
  },
  {
    name: 'a registration ends the drain',
    changes: [
      orchestrator(
        'commands/workers/worker-calls',
        '    gone: null,\n    lastContactAt: core.time.now(),\n',
        '    gone: null,\n    drain: null,\n    lastContactAt: core.time.now(),\n',
      ),
    ],
  },
  {
    name: 'an offer is sent before it is on disk',
    changes: [
      orchestrator(
        'commands/offers',
        '  tx.afterCommit(() => {\n    const now = core.clock.mono();\n    core.connections.sendOffer(',
        '  ((run: () => void) => run())(() => {\n    const now = core.clock.mono();\n    core.connections.sendOffer(',
      ),
    ],
  },
  {
    name: 'the end of an old stream disconnects the new one',
    changes: [
      orchestrator(
        'memory/connection-registry',
        'if (entry?.stream !== stream) return false;',
        'if (entry === undefined) return false;',
      ),
    ],
  },
  {
    name: 'a pause of the orchestrator counts as silence',
    changes: [orchestrator('memory/clocks', 'Math.min(pausedMs + gapMs, now - lastReturned)', 'pausedMs')],
  },
  {
    name: 'deadlines follow the wall clock',
    changes: [
      orchestrator(
        'memory/clocks',
        'lastReturned = clock.mono() - pausedMs;',
        'lastReturned = clock.wall() - pausedMs;',
      ),
    ],
  },
  {
    name: 'a delayed cancel reaches a later attempt',
    changes: [
      orchestrator(
        'commands/offers',
        "  tx.afterCommit(() => {\n    core.connections.send(workerId, { type: 'job_cancel', job_id: job.id, attempt_id: id });\n  });",
        "  tx.afterCommit(() => core.after(20_000, () => {\n    core.connections.send(workerId, { type: 'job_cancel', job_id: job.id, attempt_id: id });\n  }));",
      ),
    ],
  },
  {
    name: 'a draining worker receives jobs',
    changes: [
      orchestrator(
        'rules/worker-rules',
        "if (drain !== null) reasons.push({ code: 'draining', reason: drain.reason });",
        '',
      ),
    ],
  },
  {
    name: 'an event is written in a separate transaction',
    changes: [
      orchestrator(
        'commands/transitions',
        '  recordJobEvent(core, tx, step.event, next, actor, { ...change, ...offerWarning(tx, next) });',
        '  core.enqueue(own => recordJobEvent(core, own, step.event, next, actor, change));',
      ),
    ],
  },
  {
    name: 'a busy worker receives a second job',
    changes: [
      orchestrator('rules/worker-rules', "if (jobId !== null) reasons.push({ code: 'busy', jobId });", ''),
      schema('CREATE UNIQUE INDEX one_live_attempt_per_worker', 'CREATE INDEX one_live_attempt_per_worker'),
    ],
  },
  {
    name: 'the published agent gets no cooldown after a report',
    changes: [
      orchestrator('v1-agent', 'if (!isPublishedAgent(worker)) return 0;', 'if (worker !== null) return 0;'),
    ],
  },
  {
    name: 'a replayed report changes an ended job',
    changes: [
      orchestrator(
        'rules/job-lifecycle',
        'completed: { ...ended, complete: repeated, fail: final,',
        "completed: { ...ended, complete: repeated, fail: (job, { end }, now) => finish({ ...job, status: 'pending', notBefore: 0 }, now, 'failed', end),",
      ),
      schema('OLD.ended_at IS NOT NULL AND NEW.status <> OLD.status', 'FALSE'),
    ],
  },
  {
    name: 're-adopting an attempt does not give its retry back',
    changes: [orchestrator('rules/job-moves', '? { ...job, retriesUsed: job.retriesUsed - 1 }', '? job')],
  },
  {
    name: 'the stream of a rotated token stays open',
    changes: [
      orchestrator(
        'commands/workers/worker-admin',
        'if (!keepOld) tx.afterCommit(() => core.connections.hangUp(id));',
        '',
      ),
    ],
  },
  {
    name: 'a drained worker is shut down during its job',
    changes: [
      orchestrator('commands/transitions', '|| workerIsHeld(tx, id)) return;', ') return;'),
      orchestrator(
        'commands/transitions',
        'if (!workerIsHeld(core.store, id)) core.connections',
        'core.connections',
      ),
    ],
  },
  {
    name: 'a worker is not told to abandon a superseded job',
    changes: [
      orchestrator(
        'commands/workers/worker-calls',
        "verdict.kind === 'abandon' ? reported : null;",
        "verdict.kind === 'resume' ? null : null;",
      ),
    ],
  },
  {
    name: 'queue limits are lost in a restart',
    changes: [
      orchestrator(
        'memory/placement/loads',
        'let settings: QueueSettings | null = null;',
        'let settings: QueueSettings | null = { pause: null, maxRunning: null, maxRunningPerUser: null };',
      ),
    ],
  },
  {
    name: 'a recovering job does not count towards the limit of its user',
    changes: [
      orchestrator(
        'memory/placement/loads',
        'isLive(job) ? job.user : null',
        "isLive(job) && job.status !== 'recovering' ? job.user : null",
      ),
    ],
  },
  {
    name: 'a team exceeds its limit by one job',
    changes: [
      orchestrator(
        'rules/queue-rules',
        "running >= limit\n    ? [{ code: 'limit', of: 'team'",
        "running > limit\n    ? [{ code: 'limit', of: 'team'",
      ),
    ],
  },
  {
    name: 'a worker that acknowledges no offer is never quarantined',
    changes: [
      orchestrator(
        'commands/transitions',
        '  if (!isTooMany) return missed;',
        '  if (missed > 0) return missed;',
      ),
    ],
  },
  {
    name: 'a paused queue dispatches jobs',
    changes: [
      orchestrator(
        'rules/queue-rules',
        "if (pause !== null) blockers.push({ code: 'paused', by: pause.by, note: pause.note });",
        '',
      ),
    ],
  },
  {
    name: 'an unapproved job is dispatched',
    changes: [
      orchestrator(
        'rules/queue-rules',
        "if (approval === 'wanted') blockers.push({ code: 'approval' });",
        '',
      ),
      orchestrator('rules/job-lifecycle', "if (job.approval === 'wanted') return unapproved(job);", ''),
    ],
  },
  {
    name: 'an idempotency key expires too early',
    changes: [
      orchestrator('commands/jobs/submission-keys', 'submission.at < keyLastsMs', 'submission.at < 5_000'),
    ],
  },
  {
    name: 'a no-wait job is queued',
    changes: [
      orchestrator(
        'commands/jobs/submit',
        'if (draft.noWait && !isTakenAtOnce(core, tx, hypothetical)) return bound;',
        '',
      ),
    ],
  },
  {
    name: 'a live job is deleted',
    changes: [
      orchestrator('commands/jobs/jobs', "if (!('endedAt' in job))", "if (job.status === 'dispatched')"),
    ],
  },
  {
    name: 'an agent keeps training an abandoned job',
    changes: [
      agent('session/job-slot', "if (current?.jobId === jobId) giveOrder(current, 'abandon', deps);", ''),
    ],
  },
  {
    name: 'an agent starts a trainer before its claim is answered',
    changes: [
      agent(
        'attempt/attempt-life',
        "if (claim !== 'taken' || held.abandoned.signal.aborted) return false;",
        '',
      ),
    ],
  },
  {
    name: 'the other workers of an attempt are not told to stop',
    changes: [
      orchestrator(
        'commands/transitions',
        "if (!node.isHeld || node.state === 'ended') continue;",
        'if (node.attemptId !== null) continue;',
      ),
    ],
  },
  {
    name: 'trainers start when only the first worker is ready',
    changes: [
      orchestrator(
        'rules/attempt-nodes',
        "if (!nodes.every(({ state }) => state === 'ready' || state === 'running')) return null;",
        '',
      ),
    ],
  },
  {
    name: 'a worker that trains with others is offered another job',
    changes: [
      orchestrator(
        'memory/eligibility',
        'read.liveJobOf(worker)?.id ?? read.heldNodeOf(worker)?.jobId ?? null;',
        'read.liveJobOf(worker)?.id ?? null;',
      ),
    ],
  },
  {
    name: 'a worker stays held after it has confirmed its end',
    changes: [
      orchestrator(
        'rules/attempt-nodes',
        ": { ...node, state: 'ended', end: endOf(node, event.end), isHeld: false };",
        ": { ...node, state: 'ended', end: endOf(node, event.end) };",
      ),
    ],
  },
  {
    name: 'an attempt continues without a worker that was lost',
    changes: [
      orchestrator(
        'rules/attempt-nodes',
        "outcome === 'failed' || outcome === 'lost' || outcome === 'withdrawn';",
        "outcome === 'failed';",
      ),
    ],
  },
];
