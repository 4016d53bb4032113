import { z } from 'zod';

/**
 * All reasons to refuse a request, with HTTP status and short title. Clients branch on the code; titles and details are for
 * people.
 */
export const problems = {
  invalid_request: { status: 400, title: 'The request is not valid' },
  checksum_mismatch: { status: 400, title: 'The content does not match the checksum' },
  malformed_json: { status: 400, title: 'The body is not JSON' },
  token_missing: { status: 401, title: 'A token is required' },
  token_invalid: { status: 401, title: 'Invalid token' },
  code_invalid: { status: 401, title: 'The link was used or has expired' },
  join_token_invalid: { status: 401, title: 'Invalid join token' },
  upload_token_over: { status: 401, title: 'The attempt is over' },
  upload_token_rotated: { status: 401, title: 'The upload token was rotated' },
  uploads_closed: { status: 401, title: 'The uploads of the attempt are closed' },
  join_token_used: { status: 401, title: 'The join token was used' },
  cross_site: { status: 403, title: 'The request comes from another site' },
  wrong_token_kind: { status: 403, title: 'The token is of the wrong kind for this request' },
  permission_missing: { status: 403, title: 'The token does not permit this' },
  not_your_worker: { status: 403, title: 'The token belongs to another worker' },
  only_from_here: { status: 403, title: 'Only the machine itself can change this' },
  not_your_job: { status: 403, title: 'The job belongs to another worker' },
  route_not_found: { status: 404, title: 'No such API path' },
  worker_not_found: { status: 404, title: 'No such worker' },
  pool_not_found: { status: 404, title: 'No such pool' },
  channel_not_found: { status: 404, title: 'No such notification channel' },
  rule_not_found: { status: 404, title: 'No such notification rule' },
  launch_not_found: { status: 404, title: 'No such launch' },
  job_not_found: { status: 404, title: 'No such job' },
  token_not_found: { status: 404, title: 'No such token' },
  actor_not_found: { status: 404, title: 'No such user or worker in the audit trail' },
  session_not_found: { status: 404, title: 'No such session' },
  config_not_found: { status: 404, title: 'No such config' },
  template_not_found: { status: 404, title: 'No such template' },
  backup_not_found: { status: 404, title: 'No such backup' },
  dataset_not_found: { status: 404, title: 'No such dataset' },
  content_not_found: { status: 404, title: 'The content is not stored' },
  artifact_not_found: { status: 404, title: 'No such file' },
  log_not_found: { status: 404, title: 'There is no log' },
  log_not_begun: { status: 404, title: 'There is no log yet' },
  program_not_built: { status: 404, title: 'The worker program was not built' },
  method_not_allowed: { status: 405, title: 'The path does not support this method' },
  pool_in_use: { status: 409, title: 'The pool has open launches' },
  worker_not_offline: { status: 409, title: 'The worker is not offline' },
  duplicate_registration: { status: 409, title: 'Another machine uses this token' },
  update_under_way: { status: 409, title: 'The worker restarts' },
  nothing_to_release: { status: 409, title: 'The job does not wait for its worker' },
  not_registered: { status: 409, title: 'The worker has not registered' },
  attempt_superseded: { status: 409, title: 'A newer attempt has taken over' },
  job_awaited: { status: 409, title: 'Other jobs wait for the job' },
  job_not_final: { status: 409, title: 'The job has not ended' },
  nothing_outstanding: { status: 409, title: 'No files are outstanding' },
  job_not_running: { status: 409, title: 'The job does not run' },
  request_unknown: { status: 409, title: 'The trainer does not support this action' },
  worker_unable: { status: 409, title: 'The worker does not support this action' },
  worker_not_connected: { status: 409, title: 'The worker is not connected' },
  job_not_pending: { status: 409, title: 'The job does not wait' },
  priority_boundary: { status: 409, title: 'The jobs differ in priority' },
  no_approval_wanted: { status: 409, title: 'The job does not wait for approval' },
  job_final: { status: 409, title: 'The job has ended' },
  config_in_the_way: { status: 409, title: 'The name belongs to another object' },
  name_taken: { status: 409, title: 'The name is in use' },
  target_unavailable: { status: 409, title: 'The target is not available' },
  setting_fixed: { status: 409, title: 'The setting is fixed' },
  address_unavailable: { status: 409, title: 'The server cannot listen on the address' },
  restore_under_way: { status: 409, title: 'A backup is being restored' },
  upload_offset: { status: 409, title: 'The upload must continue at another offset' },
  length_required: { status: 411, title: 'The length of the body is required' },
  config_changed: { status: 412, title: 'The config has changed' },
  template_changed: { status: 412, title: 'The template has changed' },
  config_exists: { status: 412, title: 'The config already exists' },
  wrong_host: { status: 421, title: 'The host name is not allowed' },
  quota_exceeded: { status: 413, title: 'There is not enough space for the file' },
  body_too_large: { status: 413, title: 'The body is too large' },
  media_type: { status: 415, title: 'The body must be JSON' },
  idempotency_key_reused: { status: 422, title: 'The idempotency key was used for another request' },
  backup_unusable: { status: 422, title: 'The backup cannot be used' },
  config_invalid: { status: 422, title: 'The config cannot be used' },
  too_many_streams: { status: 429, title: 'Too many streams' },
  too_many_uploads: { status: 429, title: 'Too many uploads at once' },
  too_many_searches: { status: 429, title: 'Too many searches at once' },
  too_many_downloads: { status: 429, title: 'Too many downloads at once' },
  too_many_restores: { status: 429, title: 'Too many restores within a day' },
  too_many_failures: { status: 429, title: 'Too many requests without a valid token' },
  internal: { status: 500, title: 'The server failed' },
  search_too_long: { status: 503, title: 'The search took too long' },
  not_ready: { status: 503, title: 'Not ready' },
  stopping: { status: 503, title: 'The orchestrator is stopping' },
  restoring: { status: 503, title: 'A backup is being restored' },
  storage: { status: 507, title: 'The change could not be stored' },
} as const satisfies Record<string, { readonly status: number; readonly title: string }>;

export type ProblemCode = keyof typeof problems;

/** An expected refusal of a request. It becomes an error response of the API, or a message on the terminal. */
export interface Refusal {
  readonly code: ProblemCode;
  /** One sentence: what happened to which object, and what to do. */
  readonly detail: string;
  /** `stop` tells an agent to stop the trainer of this attempt. */
  readonly action?: 'stop';
}

export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: Refusal };

export const accept = <T>(value: T): Outcome<T> => ({ ok: true, value });

export const refuse = (
  code: ProblemCode,
  detail: string,
  action?: 'stop',
): { readonly ok: false; readonly refusal: Refusal } => ({
  ok: false,
  refusal: action === undefined ? { code, detail } : { code, detail, action },
});

export const Problem = z
  .object({
    type: z.string().describe('Always `about:blank`; `code` identifies the problem.'),
    title: z.string().describe('Short title of the problem.'),
    status: z.number().describe('HTTP status of the response.'),
    detail: z.string().describe('One sentence: what happened to which object, and what to do.'),
    code: z.string().describe('Code of the problem for programs. Newer servers may send other codes.'),
    action: z
      .literal('stop')
      .optional()
      .describe('`stop` tells an agent to stop the trainer of this attempt; absent otherwise.'),
    errors: z
      .array(
        z.object({
          field: z.string().describe('Path of the field, with dots.'),
          message: z.string().describe('What is wrong with the field.'),
        }),
      )
      .optional()
      .describe('Invalid fields of the request; absent for other problems.'),
    request_id: z.string().optional().describe("Id of the request in the server's log."),
  })
  .meta({
    id: 'Problem',
    description: 'Body of every error response, `application/problem+json` (RFC 9457).',
  });
export type Problem = z.infer<typeof Problem>;
