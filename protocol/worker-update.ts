/** Updates of worker programs that the orchestrator requests. */
import { z } from 'zod';
import { ProgramName } from './agent-api.ts';
import { Sha256 } from './dataset.ts';
import { WorkerId } from './ids.ts';
import { CleanLine } from './text.ts';
import { agentBlocks, UpdateRefusal, UpdateTime } from './worker-update-view.ts';

export { UpdateRefusal, UpdateState, UpdateTime } from './worker-update-view.ts';

export const UpdateId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/)
  .brand<'UpdateId'>()
  .describe('Id of one update of one worker.');
export type UpdateId = z.infer<typeof UpdateId>;

/** The program of an agent, as the agent reports it. An invalid value becomes null, as for an agent without updates. */
export const ReportedProgram = z
  .object({
    name: z
      .string()
      .max(100)
      .nullable()
      .describe('Name of the program among the downloads of the server; null for another program.'),
    sha256: Sha256.nullable().describe('SHA-256 of the program that runs; null when unknown.'),
    blocked: z
      .enum(agentBlocks)
      .nullable()
      .describe('Why the agent does not replace its program; null when it does.'),
    trial: z
      .boolean()
      .default(false)
      .describe('Whether this process tries out a new program, which then replaces the old one.'),
  })
  .nullish()
  .catch(null)
  .describe('Program of the agent; absent from agents that the server cannot update.');

/** A program that the worker has to install. Every response repeats the order until the worker has the program. */
export const UpdateOrder = z.object({
  id: UpdateId,
  version: z.string().max(100).describe('Version of the program.'),
  program: ProgramName.describe('Name of the download.'),
  sha256: Sha256.describe('SHA-256 of the program.'),
});
export type UpdateOrder = Readonly<z.output<typeof UpdateOrder>>;

/** A worker's report about its update. */
export const UpdateReport = z.strictObject({
  id: UpdateId,
  state: z
    .enum(['downloading', 'restarting', 'failed'])
    .describe('`restarting`: the agent has the program, and restarts if the response allows it.'),
  reason: z.string().max(1_000).pipe(CleanLine).nullish().describe('Why it failed; null otherwise.'),
});
export type UpdateReport = Readonly<z.output<typeof UpdateReport>>;

export const UpdateRequest = z
  .strictObject({
    workers: z
      .array(WorkerId)
      .min(1)
      .max(1_000)
      .optional()
      .describe('Workers to update; omitted with `all`.'),
    all: z.boolean().default(false).describe('Whether to update every worker that can be updated.'),
    when: UpdateTime.default('idle'),
    at_once: z
      .number()
      .int()
      .min(1)
      .max(64)
      .default(1)
      .describe('How many workers restart at the same time. After a failure, no further one starts.'),
  })
  .refine(body => (body.workers === undefined) === body.all, 'give either workers, or all');
export type UpdateRequest = Readonly<z.output<typeof UpdateRequest>>;

/** The server's answer for one worker of a request. */
export const UpdateAnswer = z.object({
  worker_id: WorkerId,
  name: z.string().describe('Name of the worker; its id when there is no such worker.'),
  accepted: z.boolean().describe('Whether the worker will be updated.'),
  refusal: UpdateRefusal.nullable().describe('Why it is not; null when it is.'),
  detail: z.string().describe('The result as a sentence.'),
});
export type UpdateAnswer = Readonly<z.output<typeof UpdateAnswer>>;
