import { openAsBlob } from 'node:fs';
import { accepted, type Checked, refused } from './checked.ts';

/** The address for uploads of this job's files. The worker passes it to the trainer in the environment. */
export type Destination = {
  readonly endpoint: string;
  readonly token: string;
};

/** Returns undefined if the trainer was started by hand, or by a worker without uploads. */
export function findDestination(env: Readonly<Record<string, string | undefined>>): Destination | undefined {
  const endpoint = env['SIMPLETUNER_UPLOAD_ENDPOINT'];
  const token = env['SIMPLETUNER_UPLOAD_TOKEN'];
  return endpoint && token ? { endpoint, token } : undefined;
}

const TIMEOUT_MS = 60_000;

export type UploadPorts = {
  readonly destination?: Destination | undefined;
  /** Cancels uploads when it fires. */
  readonly stop: AbortSignal;
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
};

/** Uploads files one after another while the training continues. Failed uploads are logged, but do not fail the training. */
export function createUploads({ destination, stop, print, printError }: UploadPorts) {
  let lastUpload = Promise.resolve();
  const upload = async (path: string, key: string): Promise<void> => {
    if (destination === undefined || stop.aborted) return;
    const result = await uploadFile(path, key, destination, stop);
    if (result.ok) print(`uploaded ${result.value}`);
    else if (!stop.aborted) printError(`digits: ${result.reason}`);
  };
  return {
    /** Queues a file for upload. `key` is its name in the storage, with slashes. */
    begin: (path: string, key: string): void => {
      lastUpload = lastUpload.then(() => upload(path, key));
    },
    /** Resolves when all uploads so far have ended. */
    settled: () => lastUpload,
  };
}

async function uploadFile(
  path: string,
  key: string,
  { endpoint, token }: Destination,
  stop: AbortSignal,
): Promise<Checked<string>> {
  try {
    const response = await fetch(`${endpoint}/outputs/${key.split('/').map(encodeURIComponent).join('/')}`, {
      method: 'PUT',
      headers: { 'X-Upload-Token': token },
      body: await openAsBlob(path),
      redirect: 'error',
      signal: AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    if (response.ok) return accepted(key);
    return refused(`${key} was rejected: ${response.status} ${(await response.text()).slice(0, 200)}`);
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return refused(`${key} could not be sent: ${reason instanceof Error ? reason.message : String(reason)}`);
  }
}
