import http from 'node:http';
import { z } from 'zod';
import { parseJson, resetSocket, textOf } from './chaos-proxy-exchange.ts';
import { createNotices, type Notices } from './notices.ts';

const Command = z.looseObject({
  type: z.string(),
  job_id: z.string().optional(),
  attempt_id: z.string().optional(),
});
type Command = z.output<typeof Command>;

/** A response. `body`: the JSON, which is not checked against the contract. */
interface LightAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** A simulated protocol 2 worker that a test controls. It has no agent, so one process can run a thousand workers. */
export interface LightWorker {
  readonly id: string;
  /** The commands received on all streams, oldest first, without pings. */
  readonly commands: readonly Command[];
  readonly isOpen: boolean;
  readonly waitFor: Notices['waitFor'];
  register(more?: object): Promise<LightAnswer>;
  /** Resolves when the response has started. `stopsReading`: never read the stream after that. */
  openStream(options?: { readonly stopsReading?: boolean }): Promise<void>;
  /** Resets the stream's socket. */
  cut(): void;
  beat(more?: object): Promise<LightAnswer>;
  report(job: string, attempt: string, status: string, more?: object): Promise<LightAnswer>;
}

export interface LightWorkerDeps {
  readonly url: string;
  readonly id: string;
  readonly token: string;
  /** The pool of HTTP connections for calls. Many workers can share it. */
  readonly agent: http.Agent;
  readonly onCommand?: (command: Command, worker: LightWorker) => void;
}

export function createLightWorker(deps: LightWorkerDeps): LightWorker {
  const { url, id, token, agent } = deps;
  const notices = createNotices();
  const commands: Command[] = [];
  let stream: http.ClientRequest | null = null;
  let isOpen = false;

  const call = async (path: string, body: object, triesLeft = 3): Promise<LightAnswer> => {
    const request = http.request(new URL(path, url), {
      method: 'POST',
      agent,
      headers: { 'x-worker-token': token, 'content-type': 'application/json' },
    });
    try {
      const answer = await answerTo(request, JSON.stringify(body));
      return { status: answer.statusCode ?? 0, body: parseJson(await textOf(answer)) };
    } catch (cause) {
      // Retry, as all clients do, because the server may have just closed a reused connection.
      if (triesLeft === 0) throw cause;
      return call(path, body, triesLeft - 1);
    }
  };

  const handleLine = (line: string): void => {
    const command = line.startsWith('data: ') ? Command.safeParse(parseJson(line.slice(6))) : null;
    if (command === null || !command.success || command.data.type === 'ping') return;
    commands.push(command.data);
    deps.onCommand?.(command.data, worker);
    notices.changed();
  };

  const worker: LightWorker = {
    id,
    commands,
    get isOpen() {
      return isOpen;
    },
    waitFor: notices.waitFor,
    register: more =>
      call('/api/workers/register', {
        protocol: 2,
        name: id,
        persistent: true,
        instance_id: `machine-${id}`,
        start_id: `start-${id}`,
        gpu_count: 1,
        ...more,
      }),
    async openStream({ stopsReading = false } = {}) {
      const path = `/api/workers/stream?worker_id=${id}`;
      const request = http.get(new URL(path, url), { agent: false, headers: { 'x-worker-token': token } });
      const answer = await answerTo(request);
      if (answer.statusCode !== 200) throw new Error(`the stream of ${id} returned ${answer.statusCode}`);
      stream = request;
      isOpen = true;
      const close = (): void => {
        if (stream === request) isOpen = false;
        notices.changed();
      };
      request.on('error', close);
      answer.on('error', close).on('close', close);
      if (!stopsReading) followLines(answer, handleLine);
      notices.changed();
    },
    cut() {
      if (stream?.socket) resetSocket(stream.socket);
      isOpen = false;
    },
    beat: more =>
      call('/api/workers/heartbeat', { worker_id: id, status: 'idle', current_job_id: null, ...more }),
    report: (job, attempt, status, more) =>
      call(`/api/workers/job/${job}/status`, { status, attempt_id: attempt, ...more }),
  };
  return worker;
}

function answerTo(request: http.ClientRequest, body?: string): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', reject);
    request.end(body);
  });
}

function followLines(answer: http.IncomingMessage, onLine: (line: string) => void): void {
  let rest = '';
  answer.setEncoding('utf8');
  answer.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
}

/** For `onCommand`: accepts each offer and completes its job immediately. */
export function completeAtOnce(command: Command, worker: LightWorker): void {
  const { type, job_id: job = '', attempt_id: attempt = '' } = command;
  if (type !== 'job_submit') return;
  void worker
    .report(job, attempt, 'starting')
    .then(async ({ status }) =>
      status === 200 ? worker.report(job, attempt, 'completed', { exit_code: 0 }) : null,
    )
    .catch(() => {});
}
