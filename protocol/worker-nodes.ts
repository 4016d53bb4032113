import { z } from 'zod';
import { AttemptId, JobId } from './ids.ts';

/** Address of a machine: a host name, or an IP address without brackets. */
export const NodeAddress = z
  .string()
  .max(253)
  .regex(/^[\w.:%-]+$/);
const Port = z.int().min(1).max(65_535);

/** Address of the first machine of an attempt on several machines. All trainer processes of the attempt connect to it. */
export const Rendezvous = z.object({
  job_id: JobId,
  attempt_id: AttemptId,
  address: NodeAddress.describe('Address of the first machine.'),
  port: Port.describe('Port at that address.'),
});
export type Rendezvous = Readonly<z.output<typeof Rendezvous>>;

/** Address at which the other machines of an attempt reach the trainer on this machine. */
export const ReadyNode = z.object({
  address: NodeAddress.nullable().describe(
    'Address at which other machines reach this one; null when unknown.',
  ),
  port: Port.describe('A free port at that address.'),
});

export const OfferedNode = z
  .object({
    rank: z.int().min(0).max(1023).describe('Number of this machine among those of the attempt, from 0.'),
    count: z.int().min(2).max(1024).describe('Number of machines.'),
  })
  .describe(
    'Present when several workers train the job together. Only the worker with rank 0 sends progress, logs and files. Each worker reports the end of the training on its own machine.',
  );

/** A field of a registration. */
export const MultiNode = z
  .boolean()
  .nullish()
  .catch(null)
  .describe('Whether the agent can train one job together with the agents of other machines.');
