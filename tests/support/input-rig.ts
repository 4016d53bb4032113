/** Workers whose trainer uses files of other jobs as inputs. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import type { Client } from '../../protocol/client.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import { startWorker, temporaryFolder } from './processes.ts';
import { valueOf } from './server.ts';

/**
 * Script of a trainer. It reports the `losses` of the config, and creates the `files` of the config with random bytes. It also
 * hashes each file at the path `takes` of the config, and writes the SHA-256 values into `seen.json` in its output folder. With
 * `resumes`, it hashes the checkpoint to resume from instead.
 */
const trainer = `
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
const { resumes, takes = resumes && process.argv[4], files = {}, losses = [] } = JSON.parse(
  readFileSync(process.argv[2], 'utf8'),
);
const output = process.argv[3];
for (const [step, loss] of losses) console.log(JSON.stringify({ type: 'progress', step, loss }));
for (const [path, bytes] of Object.entries(files)) {
  mkdirSync(dirname(join(output, path)), { recursive: true });
  writeFileSync(join(output, path), randomBytes(bytes));
}
if (takes !== undefined) {
  const digestOf = path => createHash('sha256').update(readFileSync(path)).digest('hex');
  const inside = statSync(takes).isDirectory() ? readdirSync(takes, { recursive: true }).map(String) : [''];
  const seen = inside.filter(name => statSync(join(takes, name)).isFile());
  const digests = seen.map(name => [name === '' ? basename(takes) : name, digestOf(join(takes, name))]);
  writeFileSync(join(output, 'seen.json'), JSON.stringify(Object.fromEntries(digests)));
}
`;

export interface ServerAccess {
  readonly url: string;
  createWorker(body: { readonly name: string }): Promise<{ readonly id: WorkerId; readonly token: string }>;
}

/** Creates a worker, and writes its trainer script. `start` of the result starts the agent. */
export async function createInputRig(name: string, { url, createWorker }: ServerAccess) {
  const { token } = await createWorker({ name });
  const stateHome = temporaryFolder();
  const script = join(stateHome, 'train.mjs');
  writeFileSync(script, trainer);
  const command = `'${process.execPath}' '${script}' {config_path} {output_dir} {resume_from}`;
  const start = () =>
    startWorker({ url, token, stateHome, args: ['--name', name, '--persistent', '--trainer', command] });
  const folderOf = (job: JobId): string => join(stateHome, 'trainyard', name, 'jobs', job);
  return {
    start,
    /** Returns the SHA-256 of each file that the trainer of a job has found, by name. */
    seen: (job: JobId): unknown =>
      JSON.parse(readFileSync(join(folderOf(job), 'output', 'seen.json'), 'utf8')),
    /** Returns the names of the complete and partial input files of a job. */
    inputs(job: JobId): readonly string[] {
      try {
        return readdirSync(join(folderOf(job), 'inputs'), { recursive: true }).map(String);
      } catch {
        return [];
      }
    },
  };
}

/** Returns the SHA-256 of each file that the server has stored for a job, by key. */
export async function listStoredFiles(job: JobId, admin: Client): Promise<Readonly<Record<string, string>>> {
  const page = valueOf(await admin.call(artifactsApi.list, { params: { id: job }, query: { limit: 500 } }));
  return Object.fromEntries(page.artifacts.map(({ key, sha256 }) => [key, sha256]));
}
