/**
 * The session of a v1 agent with its orchestrator: registration, stream and heartbeats. Numbers in brackets are items of
 * docs/internals/worker-contract.md, section 3.
 */
import { nameJob, requestShutdown, requireObject, toText, type StreamEvent, type V1Core } from './v1-core.ts';
import { V1StatusError } from './v1-http.ts';
import { startJob, stopCurrentJob } from './v1-job.ts';

const REGISTER_TIMEOUT_MS = 30_000;
const BEAT_TIMEOUT_MS = 10_000;

/** Registers without labels, protocol or instance id [13]. Obeys `resume_job` and `abandon_job` in the answer [9, 12]. */
export async function register(core: V1Core): Promise<void> {
  const { config, state } = core;
  const namedJob = state.currentJob === null ? null : nameJob(state.currentJob);
  const body = {
    name: config.name,
    gpu_info: config.gpuInfo,
    persistent: config.persistent,
    ...(config.provider === undefined ? {} : { provider: config.provider }),
    current_job_id: namedJob,
  };
  const answer = await core.loop.io(core.http.post('/api/workers/register', body, REGISTER_TIMEOUT_MS));
  if (!isSuccess(answer.status)) throw new V1StatusError('registration', answer.status);
  const { worker_id: workerId, resume_job: resume, abandon_job: abandon } = requireObject(answer.body);
  if (typeof workerId !== 'string') throw new Error("KeyError: 'worker_id'");
  const resumeJob = resume ? nameResumed(requireObject(resume)) : null;
  const abandonJob = resumeJob === null && abandon ? toText(abandon) : null;
  state.workerId = workerId;
  // The agent trusts the server even if its trainer has already ended. In that case, nothing ever clears the job.
  if (resumeJob !== null) state.currentJob = { jobId: resumeJob };
  core.emit({ kind: 'registered', workerId, namedJob, resumeJob, abandonJob });
  if (abandonJob !== null) await stopCurrentJob(core);
}

function nameResumed(resume: StreamEvent): string {
  if (!('job_id' in resume)) throw new Error("KeyError: 'job_id'");
  return toText(resume['job_id']);
}

/** Sends heartbeats while the stream is open, and handles the received lines [1, 9, 11]. */
export async function followStream(core: V1Core): Promise<void> {
  const { state, loop } = core;
  const workerId = state.workerId ?? 'None';
  const controller = new AbortController();
  const path = `/api/workers/stream?worker_id=${encodeURIComponent(workerId)}`;
  const reportHeldLine = (text: string): void => {
    if (loop.isBlocked) core.emit({ kind: 'lineHeld', text });
  };
  const opening = core.http.stream(path, controller.signal, reportHeldLine);
  void sendHeartbeats(core, controller.signal);
  try {
    const stream = await loop.io(opening);
    if (!isSuccess(stream.status)) throw new V1StatusError('the stream', stream.status);
    core.emit({ kind: 'streamOpen', workerId });
    for (;;) {
      const item = await loop.io(stream.next());
      if (item.kind === 'end') return core.emit({ kind: 'streamEnded' });
      if (item.kind === 'error') throw item.error;
      if (state.isShutdownRequested) return;
      await handleLine(core, item.text);
    }
  } finally {
    controller.abort();
  }
}

/** Ignores every line except `data: ` with one JSON object [1]. JSON that is not an object ends the stream. */
async function handleLine(core: V1Core, line: string): Promise<void> {
  if (!line.startsWith('data: ')) return;
  let parsed: unknown;
  try {
    parsed = JSON.parse(line.slice('data: '.length));
  } catch {
    core.emit({ kind: 'lineUnreadable', text: line });
    return;
  }
  const event = requireObject(parsed);
  core.emit({ kind: 'lineReceived', event });
  switch (event['type']) {
    case 'job_submit':
      return startJob(core, event);
    case 'job_cancel':
      return stopCurrentJob(core); // the agent ignores the id in the event [6]
    case 'shutdown':
      return requestShutdown(core, 'shutdown', toText(event['reason'] ?? 'unknown'));
    default: // `ping`, and every unknown type
  }
}

async function sendHeartbeats(core: V1Core, streamEnded: AbortSignal): Promise<void> {
  while (!core.state.isShutdownRequested && !streamEnded.aborted) {
    await sendHeartbeat(core, streamEnded);
    await core.pause(core.config.heartbeatMs, 'heartbeat', streamEnded);
  }
}

/** Sends a heartbeat. The agent ignores the answer, even a 401 [8, 11]. */
async function sendHeartbeat({ state, loop, http, emit }: V1Core, streamEnded: AbortSignal): Promise<void> {
  const currentJobId = state.currentJob?.jobId ?? null;
  const status = currentJobId === null ? 'idle' : 'busy';
  const body = { worker_id: state.workerId, status, current_job_id: currentJobId };
  const answerStatus = await loop
    .io(http.post('/api/workers/heartbeat', body, BEAT_TIMEOUT_MS, streamEnded))
    .then(
      answer => answer.status,
      () => null,
    );
  if (!streamEnded.aborted) emit({ kind: 'heartbeatSent', status, currentJobId, answerStatus });
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
