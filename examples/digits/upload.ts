import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';
import { accepted, type Checked, refused } from './checked.ts';

/** Where the orchestrator wants files of this job, as the worker says it in the environment of its trainer. */
export type Destination = {
  readonly endpoint: string;
  readonly token: string;
};

/** Undefined where nobody wants them: the trainer was started by hand, or by a worker of another kind. */
export function findDestination(env: Readonly<Record<string, string | undefined>>): Destination | undefined {
  const endpoint = env['SIMPLETUNER_UPLOAD_ENDPOINT'];
  const token = env['SIMPLETUNER_UPLOAD_TOKEN'];
  return endpoint && token ? { endpoint, token } : undefined;
}

const PATIENCE_MS = 60_000;

/** Brings a file there under its own name. What keeps it from that is no fault of the training, and so it is a value. */
export async function uploadFile(path: string, { endpoint, token }: Destination): Promise<Checked<string>> {
  const name = basename(path);
  try {
    const response = await fetch(`${endpoint}/outputs/${encodeURIComponent(name)}`, {
      method: 'PUT',
      headers: { 'X-Upload-Token': token },
      body: await openAsBlob(path),
      redirect: 'error',
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (response.ok) return accepted(name);
    return refused(`${name} was not taken: ${response.status} ${(await response.text()).slice(0, 200)}`);
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return refused(`${name} could not be sent: ${reason instanceof Error ? reason.message : String(reason)}`);
  }
}
