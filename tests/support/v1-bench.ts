/**
 * Fixture for tests of the v1 agent model itself. Each test gets a new scripted server, and controls the agent's waits. The
 * fixture kills all agents after the test.
 */
import { afterEach, beforeEach } from 'vitest';
import { startV1Agent, type V1Agent } from './v1-agent.ts';
import type { V1AgentOptions } from './v1-core.ts';
import type { V1Events } from './v1-events.ts';
import { type ScriptedServer, startScriptedServer } from './v1-scripted-server.ts';
import { type ManualRun, type ManualTrainer, manualTrainer } from './v1-trainer.ts';
import { createV1Waits, type V1WaitReason, type V1Waits } from './v1-waits.ts';

interface Started {
  readonly agent: V1Agent;
  readonly events: V1Events;
  readonly waits: V1Waits;
  readonly manual: ManualTrainer;
}

interface StartOptions extends Partial<V1AgentOptions> {
  /** Reasons of waits that end immediately; none by default. */
  readonly instant?: readonly V1WaitReason[];
}

export interface V1Fixture {
  readonly server: ScriptedServer;
  /** Starts a persistent agent with a trainer that the test controls. Resolves as soon as the agent's stream is open. */
  start(options?: StartOptions): Promise<Started>;
  /** Like `start`, but returns without waiting for the stream. */
  startOnly(options?: StartOptions): Started;
  /**
   * Like `start`, but also offers the job `j1`, and waits until the agent has read the first line of its trainer. The agent then
   * waits 100 ms before it reads the next line (the wait with the reason `poll`).
   */
  startBusy(options?: StartOptions): Promise<Started & { readonly run: ManualRun }>;
  /** Returns the statuses that the server received for a job, in order of arrival. */
  statusesOf(jobId: string): string[];
  /** Returns the bodies of all registrations. */
  registrations(): unknown[];
}

export function useV1Fixture(): V1Fixture {
  let server: ScriptedServer | null = null;
  let agents: V1Agent[] = [];

  beforeEach(async () => {
    server = await startScriptedServer();
  });
  afterEach(async () => {
    for (const agent of agents) agent.kill();
    agents = [];
    await server?.close();
  });

  function getServer(): ScriptedServer {
    if (server === null) throw new Error('the fixture exists only within a test');
    return server;
  }

  function startOnly({ instant = [], ...options }: StartOptions = {}): Started {
    const waits = createV1Waits({ instant });
    const manual = manualTrainer();
    const { wait } = waits;
    const { trainer } = manual;
    const url = `${getServer().url}/`;
    const agent = startV1Agent({
      url,
      token: 'wt_secret',
      name: 'rig-1',
      persistent: true,
      trainer,
      wait,
      ...options,
    });
    agents.push(agent);
    return { agent, events: agent.events, waits, manual };
  }

  async function start(options?: StartOptions): Promise<Started> {
    const started = startOnly(options);
    await started.events.waitFor('streamOpen');
    return started;
  }

  return {
    get server() {
      return getServer();
    },
    start,
    startOnly,
    async startBusy(options) {
      const started = await start(options);
      getServer().push(createSubmission('j1'));
      const run = await started.manual.run();
      run.print('step 1');
      await started.events.waitFor('trainerLine');
      return { ...started, run };
    },
    statusesOf: jobId =>
      getServer()
        .named(`/job/${jobId}/status`)
        .map(call => readStatus(call.body) ?? 'none'),
    registrations: () =>
      getServer()
        .named('/register')
        .map(call => call.body),
  };
}

/**
 * Creates a `job_submit` command (docs/internals/worker-contract.md, section 3, item 2). Keys with the value undefined are
 * omitted.
 */
export function createSubmission(jobId: string, more: Readonly<Record<string, unknown>> = {}): unknown {
  return {
    type: 'job_submit',
    job_id: jobId,
    config: { model_type: 'lora' },
    dataloader: null,
    provider: null,
    hf_token: null,
    upload_endpoint: '/api/cloud/storage',
    upload_token: 'ut_1',
    ...more,
  };
}

/** Returns a condition for `ScriptedServer.hold` that matches status reports with this status. */
export function reports(wanted: string): (body: unknown) => boolean {
  return body => readStatus(body) === wanted;
}

function readStatus(body: unknown): string | null {
  return typeof body === 'object' && body !== null && 'status' in body ? String(body.status) : null;
}
