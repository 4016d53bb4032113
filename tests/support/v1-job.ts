/**
 * Starts, watches, reports and stops the job of a v1 agent. Numbers in brackets are items of docs/internals/worker-contract.md,
 * section 3. The state has one field for the current job and one for its trainer. Two coroutines write both fields:
 *
 *   stream                       job_submit -> start the trainer
 *                                job_cancel, abandon_job, exit -> stop the trainer -> post `cancelled` -> clear both fields
 *   watcher (one per trainer)    read a line -> sleep 100 ms -> repeat
 *                                the trainer has ended -> post the outcome -> clear both fields
 *
 * The watcher reports and clears *the current job*, which may already be a later job. The model reproduces these races (items 4
 * and 7).
 */
import { nameJob, requestShutdown, toText, type StreamEvent, type V1Core } from './v1-core.ts';
import type { V1Job, V1JobStatus } from './v1-events.ts';
import { createManualRun, type FakeRun } from './v1-trainer.ts';

const POLL_MS = 100;
const GRACE_MS = 30_000;
const POST_TIMEOUT_MS = 10_000;

/** Python's `mapping[key]`: throws for a missing key, but accepts null as a value. */
function requireKey(event: StreamEvent, key: string): unknown {
  if (!(key in event)) throw new Error(`KeyError: '${key}'`);
  return event[key];
}

/**
 * Handles `job_submit` [2, 3, 4, 5]. Throws for a missing key, or for a token that is not a string, *after* the agent has
 * accepted the job. The agent then loses its stream, waits 10 s and registers again. The registration reports the job as current,
 * although the job has no trainer. Without `job_id`, every such registration also fails.
 */
export async function startJob(core: V1Core, event: StreamEvent): Promise<void> {
  const { state, emit } = core;
  if (state.currentJob !== null) {
    const hasEnded = state.run !== null && state.run.exitCode() !== null;
    const heldJob = state.currentJob.jobId ?? '';
    emit({ kind: hasEnded ? 'jobDropped' : 'jobIgnored', jobId: toText(event['job_id']), heldJob });
    return;
  }
  state.currentJob = { jobId: 'job_id' in event ? toText(event['job_id']) : undefined };
  const jobId = nameJob(state.currentJob);
  const config = requireKey(event, 'config');
  const dataloader = requireKey(event, 'dataloader');
  const uploadUrl = `${core.config.url}${toText(requireKey(event, 'upload_endpoint'))}`;
  const uploadToken = 'upload_token' in event ? event['upload_token'] : '';
  const hfToken = event['hf_token'] === '' ? null : (event['hf_token'] ?? null);

  await reportStatus(core, 'starting');

  // The agent sets the environment variables only now. Their values must be strings.
  if (typeof uploadToken !== 'string') throw new Error('TypeError: upload_token is no string');
  if (hfToken !== null && typeof hfToken !== 'string') throw new Error('TypeError: hf_token is no string');
  const provider = event['provider'];
  const job: V1Job = { jobId, config, dataloader, provider, uploadUrl, uploadToken, hfToken };
  const run = isConfig(config) ? core.config.trainer(job) : failAtOnce(job);
  state.run = run;
  emit({ kind: 'jobStarted', job });
  void watchRun(core, run, jobId).catch((error: unknown) => {
    emit({ kind: 'watcherDied', jobId, message: String(error) }); // the published agent does not await its watcher either
  });
}

function isConfig(config: unknown): boolean {
  return typeof config === 'object' && config !== null && !Array.isArray(config);
}

/** The trainer cannot read a config that is not an object, so it exits with code 1 [2]. */
function failAtOnce(job: V1Job): FakeRun {
  const run = createManualRun(job);
  run.exit(1);
  return run;
}

/** Follows one trainer to its end [3, 10]. `jobId` only labels observations. */
async function watchRun(core: V1Core, run: FakeRun, jobId: string): Promise<void> {
  const { emit, loop } = core;
  await reportStatus(core, 'training');
  while (run.exitCode() === null) {
    const reading = loop.blockOn(run.readLine());
    emit({ kind: 'trainerAwaited', jobId });
    const line = await reading;
    if (line !== null) emit({ kind: 'trainerLine', jobId, line });
    await core.pause(POLL_MS, 'poll');
  }
  const code = run.exitCode() ?? 0;
  emit({ kind: 'trainerExited', jobId, code });
  if (code === 0) await reportStatus(core, 'completed');
  else await reportStatus(core, 'failed', `Training exited with code ${code}`);
  await loop.io(core.config.beforeClear(jobId));
  clearJob(core, 'watcher');

  if (core.config.persistent || (await askForMoreJobs(core))) return;
  requestShutdown(core, 'queue');
}

/**
 * Stops the running trainer and reports the current job as `cancelled` [6]. Waiting for the trainer blocks the loop. Afterwards,
 * the agent can accept the next job, even while the watcher of the old trainer still sleeps [7].
 */
export async function stopCurrentJob(core: V1Core): Promise<void> {
  const { state, loop } = core;
  const { run } = state;
  if (run !== null && run.exitCode() === null) {
    run.signal('SIGTERM');
    await loop.blockOn(awaitEnd(core, run));
  }
  await reportStatus(core, 'cancelled');
  clearJob(core, 'stop');
}

async function awaitEnd(core: V1Core, run: FakeRun): Promise<void> {
  const controller = new AbortController();
  const grace = core.wait(GRACE_MS, 'grace', controller.signal).then(
    () => false,
    () => false,
  );
  const hasEnded = await Promise.race([run.exited.then(() => true), grace]);
  controller.abort();
  if (!hasEnded) run.signal('SIGKILL');
}

function clearJob({ state, emit }: V1Core, by: 'watcher' | 'stop'): void {
  const jobId = state.currentJob?.jobId ?? null;
  state.currentJob = null;
  state.run = null;
  emit({ kind: 'jobCleared', jobId, by });
}

/** Sends one status report without retries. The agent ignores the answer, and also a missing answer [8]. */
async function reportStatus(core: V1Core, status: V1JobStatus, error: string | null = null): Promise<void> {
  if (core.state.currentJob === null) return;
  const jobId = nameJob(core.state.currentJob);
  const path = `/api/workers/job/${jobId}/status`;
  const answer = await core.loop
    .io(core.http.post(path, { status, error }, POST_TIMEOUT_MS))
    .catch(() => ({ status: null, body: null }));
  const { status: answerStatus, body: answerBody } = answer;
  core.emit({ kind: 'statusPosted', jobId, status, error, answerStatus, answerBody });
}

/** Requests the queue, as an ephemeral agent does after its job. Returns true only after a 200 with `has_jobs: true` [11]. */
async function askForMoreJobs(core: V1Core): Promise<boolean> {
  const path = `/api/workers/queue?worker_id=${encodeURIComponent(core.state.workerId ?? 'None')}`;
  const answer = await core.loop
    .io(core.http.get(path, POST_TIMEOUT_MS))
    .catch(() => ({ status: null, body: null }));
  const { body } = answer;
  const reportsJobs =
    typeof body === 'object' && body !== null && 'has_jobs' in body && Boolean(body.has_jobs);
  const hasJobs = answer.status === 200 && reportsJobs;
  core.emit({ kind: 'queueAsked', answerStatus: answer.status, hasJobs });
  return hasJobs;
}
