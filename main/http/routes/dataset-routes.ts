import { createReadStream } from 'node:fs';
import type { BodyOf } from '../../../protocol/call.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import { datasetsApi } from '../../../protocol/datasets-api.ts';
import type { ContentFiles } from '../../../datasets/content-files.ts';
import { type DatasetFile, createManifestReader, type Manifest } from '../../../protocol/dataset.ts';
import { nameOf, type Orchestrator, type PruneChoice } from '../../orchestrator/index.ts';
import { actorOf } from './admin-routes.ts';
import type { ContentHandler } from '../uploads/content-handler.ts';
import type { Router } from './route.ts';
import type { TransferHeap } from '../listener/transfer-heap.ts';
import { proceed } from '../listener/request-body.ts';
import { planUpload } from '../uploads/upload-plan.ts';
import type { RequestTracker } from '../listener/connections.ts';
import { maySeeWorkers, onlyUserOf } from '../auth/auth.ts';

/** Reads a manifest from a file in pieces, so that the event loop is not blocked. Rejects when the file cannot be read. */
async function readManifest(path: string): Promise<Manifest> {
  const reader = createManifestReader();
  const text: AsyncIterable<string> = createReadStream(path, 'utf8');
  for await (const piece of text) reader.push(piece);
  return reader.end();
}

export interface DatasetDeps {
  readonly orchestrator: Orchestrator;
  readonly handler: ContentHandler;
  readonly files: ContentFiles;
  readonly requests: RequestTracker;
  readonly heap: TransferHeap;
}

/** Maximum size of a manifest, in bytes, because a manifest is read into memory as a whole. */
const maxManifest = 256 * 1_048_576;
/** Maximum number of datasets that are published at the same time. */
const maxPublications = 4;

/** Mounts the calls for pushing data from a workstation. Rigs read the data with the calls of their job (storage-routes). */
export function mountDatasetRoutes(
  router: Router,
  { orchestrator, handler, files, requests, heap }: DatasetDeps,
): void {
  let publications = 0;
  router.answer(datasetsApi.list, ({ query: { name = null, all, worker_id = null }, caller }) => {
    const page = orchestrator.files.datasets(
      { owner: onlyUserOf(caller), name },
      { all, workerId: worker_id, withWorkers: maySeeWorkers(caller) },
    );
    if (!page.ok) return page;
    const { datasets, storedBytes, limitBytes } = page.value;
    return accept({ datasets: [...datasets], stored_bytes: storedBytes, limit_bytes: limitBytes });
  });
  router.answer(datasetsApi.missing, async ({ body }) =>
    accept({ missing: [...(await handler.missing(body.contents))] }),
  );
  router.answer(datasetsApi.progress, async ({ params }) => {
    const { bytes, isComplete } = await handler.progressOf(params.digest);
    return accept({ bytes, complete: isComplete });
  });
  router.write(datasetsApi.upload, async ({ params: { digest: sha256 }, caller, request }, response) => {
    const plan = planUpload(request.headers);
    if (!plan.ok) return plan;
    const user = nameOf(actorOf(caller, request));
    const onAccepted = (): void => {
      requests.liftBodyTimeout(request);
      heap.track(response);
      proceed(request, response);
    };
    const outcome = await handler.receive({ sha256, user, plan: plan.value, request, onAccepted });
    if (!outcome.ok) return outcome;
    if (outcome.value === null) response.destroy();
    else response.json({ success: true, bytes: outcome.value });
    return accept(undefined);
  });
  router.answer(datasetsApi.publish, async ({ body: { name, version, pinned }, caller, request }) => {
    if (publications >= maxPublications)
      return refuse('too_many_uploads', 'Too many datasets are being published: try again in a moment');
    publications += 1;
    try {
      const manifest = await manifestAt(files, version, orchestrator);
      if (!manifest.ok) return manifest;
      const publication = { name, version, files: manifest.value, isPinned: pinned };
      const published = await orchestrator.files.publishDataset(publication, actorOf(caller, request));
      return published.ok ? accept({ ...published.value, success: true as const }) : published;
    } finally {
      publications -= 1;
    }
  });
  router.answer(datasetsApi.pin, async ({ params, body, caller, request }) => {
    const by = actorOf(caller, request);
    const outcome = await orchestrator.files.pinDataset(params.id, body.pinned, onlyUserOf(caller), by);
    return outcome.ok ? accept({ ...outcome.value, success: true as const }) : outcome;
  });
  router.answer(datasetsApi.prune, async ({ body, caller, request }) => {
    const options = { which: choiceOf(body), isDryRun: body.dry_run, owner: onlyUserOf(caller) };
    const { removed, freedBytes } = await orchestrator.files.pruneDatasets(options, actorOf(caller, request));
    return accept({ success: true as const, removed: [...removed], freed_bytes: freedBytes });
  });
}

function choiceOf({ names, versions }: BodyOf<typeof datasetsApi.prune>): PruneChoice {
  if (versions !== undefined) return { kind: 'versions', ids: versions };
  return names === undefined ? { kind: 'older' } : { kind: 'names', names };
}

async function manifestAt(
  files: ContentFiles,
  version: string,
  { files: { storedContents } }: { readonly files: Pick<Orchestrator['files'], 'storedContents'> },
): Promise<Outcome<readonly DatasetFile[]>> {
  const [stored] = storedContents([version]);
  if (stored === undefined || !(await files.has(stored)))
    return refuse('content_not_found', 'The manifest is not stored: store it first, under its SHA-256');
  if (stored.bytes > maxManifest)
    return refuse('invalid_request', `The manifest has more than ${maxManifest} bytes`);
  const manifest = await readManifest(files.pathOf(version));
  return manifest.ok ? accept(manifest.files) : refuse('invalid_request', manifest.reason);
}
