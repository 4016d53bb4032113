/** A worker that sends only the trainer output that a test chooses. */
import http from 'node:http';
import { expect } from '@playwright/test';
import { maxChunk } from '../../protocol/logs-api.ts';
import { createLightWorker } from '../support/light-worker.ts';
import type { Orchestrator } from './panel.ts';

export interface LogRig {
  /** Submits a job. Resolves after the worker has got the first attempt and reported it as running. */
  startJob(name: string, more?: object): Promise<LoggedJob>;
  close(): void;
}

export interface LoggedJob {
  readonly id: string;
  /** Sends output of the current attempt in chunks, as an agent does. */
  print(text: string): Promise<void>;
  /** Reports this number of bytes as lost. */
  reportLost(bytes: number): Promise<void>;
  /** Marks the log as complete. */
  completeLog(): Promise<void>;
  end(status: 'completed' | 'failed'): Promise<void>;
  /** Waits until the worker has got the next attempt of the job and reported it as running. */
  waitForNextAttempt(): Promise<void>;
}

/** Registers a worker. `registration`: additional fields of its registration. */
export async function openLogRig(
  orchestrator: Orchestrator,
  name: string,
  registration = {},
): Promise<LogRig> {
  const { createWorker, url } = orchestrator;
  const labels = { rig: name };
  const { id, token } = await createWorker({ name, labels });
  const agent = new http.Agent({ keepAlive: true });
  const worker = createLightWorker({ url, id, token, agent });
  expect((await worker.register(registration)).status).toBe(200);
  await worker.openStream();

  /** Posts log output. Returns the byte position up to which the server has the log. */
  const postLog = async (job: string, body: object): Promise<number> => {
    const response = await fetch(`${url}/api/workers/job/${job}/logs`, {
      method: 'POST',
      headers: { 'x-worker-token': token, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    return ((await response.json()) as { readonly next: number }).next;
  };

  return {
    async startJob(config, more = {}) {
      const job = await orchestrator.submit({
        config_name: config,
        config: {},
        worker_labels: labels,
        ...more,
      });
      let attempt = '';
      /** Number of log bytes of this attempt that the server has. */
      let position = 0;
      const offers = () =>
        worker.commands.filter(command => command.type === 'job_submit' && command.job_id === job);
      /** `number`: the number of the attempt, from 1. */
      const startAttempt = async (number: number): Promise<void> => {
        await worker.waitFor(`attempt ${number} of ${config}`, () => offers().length >= number);
        attempt = String(offers()[number - 1]?.attempt_id);
        position = 0;
        expect((await worker.report(job, attempt, 'running')).status).toBe(200);
      };
      let attempts = 1;
      await startAttempt(attempts);
      const send = async (text: string, fields: object = {}): Promise<void> => {
        const to = position + Buffer.byteLength(text);
        position = await postLog(job, {
          attempt_id: attempt,
          after: position,
          from: position,
          to,
          text,
          ...fields,
        });
        expect(position).toBe(to);
      };
      return {
        id: job,
        async print(text) {
          // Chunks must arrive in the order of the output.
          for (let start = 0; start < text.length; start += maxChunk)
            await send(text.slice(start, start + maxChunk));
        },
        async reportLost(bytes) {
          const from = position + bytes;
          position = await postLog(job, { attempt_id: attempt, after: position, from, to: from, text: '' });
        },
        completeLog: () => send('', { is_last: true }),
        async end(status) {
          const exit = status === 'completed' ? 0 : 1;
          expect((await worker.report(job, attempt, status, { exit_code: exit })).status).toBe(200);
        },
        async waitForNextAttempt() {
          attempts += 1;
          await startAttempt(attempts);
        },
      };
    },
    close() {
      worker.cut();
      agent.destroy();
    },
  };
}
