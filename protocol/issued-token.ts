import { z } from 'zod';
import { WorkerId } from './ids.ts';

/** A new worker token. The token appears only in this response and cannot be read again. */
export const Issued = z.object({
  worker_id: WorkerId,
  token: z.string().describe('Secret of the worker token. It appears only in this response.'),
  name: z.string().describe('Name of the worker.'),
  connection_command: z.string().describe('Command that starts the worker with this token.'),
});

/** A new join token. As with `Issued`, the secret appears only in this response. */
export const IssuedJoinToken = z.object({
  worker_id: WorkerId,
  name: z.string().describe('Name of the worker.'),
  join_token: z.string().describe('`tj_...`: lets one machine join as this worker, once.'),
  expires_at: z.iso.datetime().describe('When the join token expires.'),
  connection_command: z.string().describe('Command for a machine on which the worker program is installed.'),
  install_command: z
    .string()
    .nullable()
    .default(null)
    .describe(
      'Command for a machine with only a shell: it also downloads the worker program. Null when the program was not built.',
    ),
});
