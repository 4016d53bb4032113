/** Workers whose trainer reads the datasets of a job. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JobId } from '../../protocol/ids.ts';
import { runTrainyard } from './cli.ts';
import { startWorker, temporaryFolder } from './processes.ts';
import type { TestServer } from './server.ts';

/** Script of a trainer that writes the SHA-256 of each data file to its output. */
const trainer = `
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
const { images } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const seen = {};
for (const name of readdirSync(images, { recursive: true }))
  if (statSync(join(images, name)).isFile())
    seen[name] = createHash('sha256').update(readFileSync(join(images, name))).digest('hex');
writeFileSync(join(process.argv[3], 'seen.json'), JSON.stringify(seen));
`;

/** Creates a worker, and writes its trainer script. `start` of the result starts the agent with `args`. */
export async function startDataRig(server: TestServer, name: string, ...args: readonly string[]) {
  const { id, token } = await server.createWorker({ name });
  const stateHome = temporaryFolder();
  const script = join(stateHome, 'train.mjs');
  writeFileSync(script, trainer);
  const start = () =>
    startWorker({
      url: server.url,
      token,
      stateHome,
      args: [
        '--name',
        name,
        '--persistent',
        '--trainer',
        `'${process.execPath}' '${script}' {config_path} {output_dir}`,
        ...args,
      ],
    });
  const jobs = join(stateHome, 'trainyard', name, 'jobs');
  return {
    id,
    start,
    /** Returns the files that the trainer of a job has found, by path. */
    seen: (job: JobId): unknown => JSON.parse(readFileSync(join(jobs, job, 'output', 'seen.json'), 'utf8')),
    /** Returns the complete and partial files in the worker's cache of datasets. */
    cached(): readonly string[] {
      try {
        return readdirSync(join(jobs, '.data-cache', 'contents'), { recursive: true }).map(String);
      } catch {
        return [];
      }
    },
  };
}

/** Creates a folder of images from random bytes. Returns its path and the SHA-256 of each image. */
export function createImages(
  count: number,
  bytes: number,
): { readonly path: string; readonly digests: Record<string, string> } {
  const path = join(temporaryFolder(), 'images');
  mkdirSync(path);
  const digests: Record<string, string> = {};
  for (let n = 0; n < count; n += 1) {
    const image = randomBytes(bytes);
    writeFileSync(join(path, `image ${n}.jpg`), image);
    digests[`image ${n}.jpg`] = createHash('sha256').update(image).digest('hex');
  }
  return { path, digests };
}

/** Submits a job that uses the folder `images` as data. */
export async function submitWithData(server: TestServer, images: string): Promise<JobId> {
  const config = join(temporaryFolder(), 'own.json');
  writeFileSync(config, JSON.stringify({ images }));
  const argv = ['jobs', 'submit', config, '--data', images, '--json', '--data-dir', server.dataDir];
  const { out, err, code } = await runTrainyard(argv);
  if (code !== 0) throw new Error(err);
  return JobId.parse((JSON.parse(out) as { readonly job_id: string }).job_id);
}
