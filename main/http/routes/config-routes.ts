import type { Request } from 'express';
import { type ConfigView, configsApi } from '../../../protocol/configs-api.ts';
import type { TrainerConfig } from '../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import { dataOf, formatOf, trainerFor } from '../../../trainers/index.ts';
import { gpusWanted, type Orchestrator } from '../../orchestrator/index.ts';
import type { ConfigFolder, ExpectedConfig, FoundConfig } from '../../orchestrator/ports/index.ts';
import { actorOf } from './admin-routes.ts';
import type { Router } from './route.ts';

export function mountConfigRoutes(router: Router, orchestrator: Orchestrator, configs: ConfigFolder): void {
  router.answer(configsApi.list, async ({ query: { q = '', cursor = null, limit } }) => {
    const { entries, next } = await configs.list({ text: q, after: cursor, limit });
    return accept({ folder: configs.folder, entries: entries.map(viewOf), next_cursor: next });
  });
  router.answer(configsApi.get, async ({ params, request }) => {
    const stored = await configs.find(params.name);
    if (!stored.ok || !stored.value.config.ok) return stored.ok ? stored.value.config : stored;
    keepPrivate(request);
    sendTag(request, stored.value.tag);
    return accept(stored.value.config.value);
  });
  router.answer(configsApi.text, async ({ params, request }) => {
    const stored = await configs.find(params.name);
    if (!stored.ok) return stored;
    const { tag, file, bundle } = stored.value;
    const text = stored.value.text();
    if (text === null) return refuse('config_invalid', `The config ${params.name} is too large`);
    keepPrivate(request);
    return accept({
      text,
      format: formatOf(file) ?? 'json',
      etag: tag && quoted(tag),
      dataloader: bundle.ok ? bundle.value.dataloader : null,
      files: bundle.ok ? { ...bundle.value.files } : {},
      problem: bundle.ok ? null : bundle.refusal.detail,
    });
  });
  router.answer(configsApi.dataloader, async ({ params, request }) => {
    const bundle = await configs.load(params.name);
    keepPrivate(request);
    return bundle.ok ? accept({ dataloader: bundle.value.dataloader }) : bundle;
  });
  const put = async (
    name: string,
    { config, files = {} }: Written,
    by: ReturnType<typeof actorOf>,
    request: Request,
  ) => {
    const expected = expectedBy(request);
    if (!expected.ok) return expected;
    const newConfig = { name, config, files, expected: expected.value };
    const outcome = await orchestrator.files.changeConfig(by, record => configs.put(newConfig, record));
    if (!outcome.ok) return outcome;
    const { file, what, tag, bytes } = outcome.value;
    sendTag(request, tag);
    const saved = await configs.find(name);
    const warnings = saved.ok ? problemsOf(saved.value) : [];
    const etag = quoted(tag);
    return accept({
      success: true as const,
      name,
      file,
      created: what === 'created',
      etag,
      size: bytes,
      warnings,
    });
  };
  router.answer(configsApi.put, ({ params: { name }, body: config, caller, request }) =>
    put(name, { config }, actorOf(caller, request), request),
  );
  router.answer(configsApi.putWithFiles, ({ params: { name }, body, caller, request }) =>
    put(name, body, actorOf(caller, request), request),
  );
  router.answer(configsApi.remove, async ({ params: { name }, caller, request }) => {
    const expected = expectedBy(request);
    if (!expected.ok) return expected;
    const outcome = await orchestrator.files.changeConfig(actorOf(caller, request), record =>
      configs.remove({ name, expected: expected.value }, record),
    );
    return outcome.ok ? accept({ success: true, name, file: outcome.value.file }) : outcome;
  });
}

interface Written {
  readonly config: TrainerConfig;
  readonly files?: Readonly<Record<string, string>>;
}

function viewOf(stored: FoundConfig): ConfigView {
  const config = stored.config.ok ? stored.config.value : {};
  const gpus = stored.config.ok ? gpusWanted({ any_gpu: false }, config) : null;
  const isUsable = gpus?.ok === true;
  const bundle = stored.bundle.ok ? stored.bundle.value : null;
  return {
    name: stored.name,
    file: stored.file,
    changed_at: new Date(stored.changedAt).toISOString(),
    size: stored.bytes,
    etag: quoted(stored.tag),
    problem: problemsOf(stored)[0] ?? null,
    model_family: wordIn(config, 'model_family'),
    model_type: wordIn(config, 'model_type'),
    gpu_count: isUsable ? gpus.value.count : null,
    devices: isUsable ? gpus.value.devices && [...gpus.value.devices] : null,
    dataloader: wordIn(config, 'data_backend_config')?.split(/[/\\]/).at(-1) ?? null,
    trainer: stored.trainer,
    format: formatOf(stored.file) ?? 'json',
    files: bundle === null ? [] : Object.keys(bundle.files),
    data: bundle === null ? [] : dataOf(bundle, trainerFor(bundle.config)).map(({ path }) => path),
  };
}

/** Returns every reason why a job with this config would be refused. */
function problemsOf({ name, config, bundle }: FoundConfig): string[] {
  const parts = config.ok ? [bundle, gpusWanted({ any_gpu: false }, config.value)] : [config];
  const refused = parts.flatMap(part => (part.ok ? [] : [part.refusal.detail]));
  const problem = config.ok ? problemOf(config.value) : null;
  return problem === null ? refused : [...refused, `The config ${name} cannot be used: ${problem}`];
}

const problemOf = (config: TrainerConfig): string | null => trainerFor(config).problem(config);

/** Reads a config value with or without leading dashes in its key. Truncates it for a list. */
function wordIn(config: TrainerConfig, name: string): string | null {
  const word = config[name] ?? config[`--${name}`];
  return typeof word === 'string' ? word.slice(0, 100) : null;
}

const quoted = (tag: string | null): string | null => tag && `"${tag}"`;

function sendTag(request: Request, tag: string | null): void {
  if (tag !== null) request.res?.setHeader('ETag', `"${tag}"`);
}

/** Configs can contain keys of other services, so no cache may store them. */
export const keepPrivate = (request: Request): void =>
  void request.res?.setHeader('Cache-Control', 'no-store');

const tagList = /^"[\x21\x23-\x7e]{0,100}"(\s*,\s*"[\x21\x23-\x7e]{0,100}")*$/;

/** Parses the preconditions of a change (RFC 9110, section 13). Weak tags never match, because the server never sends any. */
function expectedBy({ headers, method }: Request): Outcome<ExpectedConfig> {
  const ifMatch = headers['if-match'];
  const ifNoneMatch = headers['if-none-match'];
  if (ifMatch !== undefined && ifNoneMatch !== undefined)
    return refuse('invalid_request', 'Send If-Match or If-None-Match, not both');
  if (ifNoneMatch !== undefined) {
    return ifNoneMatch.trim() === '*' && method === 'PUT'
      ? accept('nothing')
      : refuse('invalid_request', 'If-None-Match: only * is supported, in a PUT that creates a config');
  }
  if (ifMatch === undefined) return accept('anything');
  if (ifMatch.trim() === '*') return accept('something');
  return tagList.test(ifMatch.trim())
    ? accept(ifMatch.split(',').map(tag => tag.trim().slice(1, -1)))
    : refuse('invalid_request', 'If-Match: send the ETag of the config, in its quotes, or *');
}
