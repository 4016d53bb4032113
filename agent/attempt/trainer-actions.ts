import { closeSync, lstatSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { AttemptId } from '../../protocol/ids.ts';
import { RequestKind, requestsKey, requestsOf, type RequestWay } from '../../protocol/requests.ts';
import { readTask, readTrainer, type RunFolder } from '../guard/guard-files.ts';
import type { RunCommand } from '../process/run-command.ts';
import type { Held } from '../job.ts';
import { isRunning, type ProcessRef, type Processes } from '../process/processes.ts';
import { reasonOf } from '../files/failure-text.ts';
import { requestsFile } from './job-files.ts';
import { firstRankOf } from './several-nodes.ts';
import {
  nameOfChoice,
  type Requested,
  type TrainerChoice,
  type TrainerRequest,
  trainerRequests,
} from '../trainers/index.ts';
import { readFields } from '../files/whole-file.ts';

export interface AskDeps {
  readonly runOf: (attemptId: AttemptId) => RunFolder;
  readonly processes: Processes;
  /** The trainers of this rig. */
  readonly trainers: readonly TrainerChoice[];
  readonly run: RunCommand;
  /** One line for people. */
  readonly log: (message: string) => void;
}

/**
 * `asked`: the trainer has received the request. `later`: the trainer cannot accept requests now. `never`: the trainer
 * does not support this request.
 */
export type AskResult = 'asked' | 'later' | 'never';

/** Requests an action from the trainer of an attempt, and logs the result. Never rejects. */
export type Ask = (held: Held, action: string) => Promise<AskResult>;

interface Answer {
  readonly result: AskResult;
  readonly text: string;
}

const asked = (text: string): Answer => ({ result: 'asked', text });
const later = (text: string): Answer => ({ result: 'later', text });
const never = (text: string): Answer => ({ result: 'never', text });

const actionWords = { save: 'to save', sample: 'for samples' } as const satisfies Record<RequestKind, string>;

/**
 * Sends requests in the way that the job's config defines, so that an order from the server never names a signal or a
 * file. The agent stores this definition on disk, so that a later process of the agent can also send requests.
 */
export const createAsk =
  (deps: AskDeps): Ask =>
  async ({ jobId, attemptId }, action) => {
    const { log } = deps;
    const kind = RequestKind.safeParse(action).data;
    if (kind === undefined) {
      log(`Job ${jobId}: this worker knows no "${action}" to ask for. Update it`);
      return 'never';
    }
    const request = `the trainer of job ${jobId} ${actionWords[kind]}`;
    try {
      const { result, text } = await ask(deps.runOf(attemptId), kind, request, deps);
      log(text);
      return result;
    } catch (cause) {
      log(`Can't ask ${request}: ${reasonOf(cause)}`);
      return 'later';
    }
  };

async function ask(run: RunFolder, kind: RequestKind, request: string, deps: AskDeps): Promise<Answer> {
  const task = readTask(run);
  const trainer = readTrainer(run);
  if (task === null || trainer === null) return later(`Did not ask ${request}: it does not run`);
  // The log is in the job's folder, like all its other files (trainer.ts).
  const folder = dirname(task.logFile);
  const stored = readFields(join(folder, requestsFile)) ?? {};
  const requests = requestsOf(stored);
  if (!requests.ok) return never(`Can't ask ${request}: ${requests.reason}`);
  const way = requests.value[kind];
  if (way !== undefined) {
    const first = (await firstRankOf(folder, deps.processes)) ?? trainer;
    return sendRequest(way, { trainer: first, outputDir: join(folder, 'output'), request }, deps);
  }
  if (!(await isRunning(deps.processes, trainer))) return later(`Did not ask ${request}: it has ended`);
  const requestOfTrainer = await requestFromKnownTrainer(
    stored['trainer'],
    { kind, folder, run: deps.run },
    deps.trainers,
  );
  if (requestOfTrainer === null)
    return never(`Can't ask ${request}: its config has no "${kind}" in ${requestsKey}`);
  return requestOfTrainer.ok
    ? asked(`Asked ${request} (${requestOfTrainer.by})`)
    : later(`Can't ask ${request}: ${requestOfTrainer.reason}`);
}

/** Returns null when this program cannot send requests to the trainer, or when the trainer is no longer on this rig. */
async function requestFromKnownTrainer(
  name: unknown,
  request: Omit<TrainerRequest, 'choice'>,
  trainers: readonly TrainerChoice[],
): Promise<Requested | null> {
  const choice = trainers.find(each => nameOfChoice(each) === name);
  if (choice === undefined || choice.kind === 'command') return null;
  return (await trainerRequests[choice.name]?.({ ...request, choice })) ?? null;
}

interface RequestTarget {
  readonly trainer: ProcessRef;
  readonly outputDir: string;
  /** Names the trainer and the action, for people. */
  readonly request: string;
}

async function sendRequest(
  way: RequestWay,
  { trainer, outputDir, request }: RequestTarget,
  { processes }: AskDeps,
): Promise<Answer> {
  if (way.kind === 'file') {
    if (!(await isRunning(processes, trainer))) return later(`Did not ask ${request}: it has ended`);
    return createRequestFile(outputDir, way.file)
      ? asked(`Asked ${request} (${way.file} in its output folder)`)
      : asked(`Asked ${request} before, and it is not done: ${way.file} is still in its output folder`);
  }
  switch (await processes.signal(trainer, way.signal)) {
    case 'sent':
      return asked(`Asked ${request} (${way.signal})`);
    case 'gone':
      return later(`Did not ask ${request}: it has ended`);
    case 'unheard':
      return later(
        `Did not ask ${request}: it does not listen to ${way.signal} now, and would be ended by it`,
      );
    case 'unable':
      return never(
        `Can't ask ${request}: this machine knows no signals. Let ${requestsKey} in its config name a file`,
      );
  }
}

/**
 * Creates an empty file without following links. Returns false when it already exists. Throws when it cannot be
 * created.
 */
function createRequestFile(outputDir: string, file: string): boolean {
  const names = file.split('/');
  const folders = names.map((_, n) => join(outputDir, ...names.slice(0, n)));
  for (const folder of folders) {
    createUnlessExists(() => mkdirSync(folder, { mode: 0o700 }));
    if (!lstatSync(folder).isDirectory()) throw new Error(`${folder} is no folder`);
  }
  return createUnlessExists(() => closeSync(openSync(join(outputDir, file), 'wx', 0o600)));
}

/** Returns false when `make` failed because the name already exists. */
function createUnlessExists(make: () => void): boolean {
  try {
    make();
    return true;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false;
    throw cause;
  }
}
