import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import type { Request, Response } from 'express';
import { type AgentManifest, agentApi, type ProgramName } from '../../../protocol/agent-api.ts';
import { joinPath } from '../../../protocol/join-line.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import { addressOf } from '../auth/sender.ts';
import { createDownloads, type DownloadLimits, downloadLimits } from './downloads.ts';
import { calledUrl } from './admin-routes.ts';
import { installScript, joinScript } from './install-script.ts';
import type { Router, WriteHandler } from './route.ts';
import { networkOf } from '../auth/failures.ts';

/** A worker program that was built on this machine. */
export interface WorkerProgram {
  readonly name: ProgramName;
  readonly path: string;
  readonly bytes: number;
  /** In lower-case hex. */
  readonly sha256: string;
}

/** Returns the programs that exist on disk now. */
export type WorkerPrograms = () => Promise<readonly WorkerProgram[]>;

export interface ProgramDeps {
  readonly programs: WorkerPrograms;
  readonly version: string;
}

export interface AgentDeps extends ProgramDeps {
  /** Returns the address and the pin for the join script. `called` is the URL under which the client requested the script. */
  readonly scriptAddress: (called: string) => { readonly url: string; readonly pin: string | null };
  readonly downloadLimits?: DownloadLimits | undefined;
}

/**
 * The `Retry-After` of a refused download, in seconds. curl and the agent retry up to five times, with pauses of this length.
 * After five pauses, another download has usually ended.
 */
const retryDownloadS = '10';

/** Serves the worker program of this version without authentication, because a rig has no token before it joins. */
export function mountAgentRoutes(router: Router, deps: AgentDeps): void {
  const offer = (): Promise<Outcome<Offer>> => findOffer(deps);
  const text =
    (which: 'install' | 'sums'): WriteHandler<typeof agentApi.install> =>
    async ({ request }, response) => {
      const offered = await offer();
      if (!offered.ok) return offered;
      sendText(request, response, offered.value[which]);
      return accept(undefined);
    };
  const send = createSend(deps);
  router.answer(agentApi.manifest, async () => {
    const offered = await offer();
    return offered.ok ? accept(offered.value.manifest) : offered;
  });
  router.write(agentApi.sums, text('sums'));
  router.write(agentApi.install, text('install'));
  router.write(agentApi.join, async ({ request }, response) => {
    const built = await deps.programs();
    if (built.length === 0) return notBuilt;
    // The script depends on the address of the request.
    response.set({ 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' });
    response.send(joinScript(deps.version, built, deps.scriptAddress(calledUrl(request))));
    return accept(undefined);
  });
  router.write(agentApi.bundle, ({ request }, response) => send('trainyard-worker.mjs', request, response));
  const executables = [
    [agentApi.executable, 'trainyard-worker-linux-x64'],
    [agentApi.executableLinuxArm64, 'trainyard-worker-linux-arm64'],
    [agentApi.executableMacos, 'trainyard-worker-darwin-arm64'],
    [agentApi.executableWindows, 'trainyard-worker-win32-x64.exe'],
  ] as const;
  for (const [call, name] of executables)
    router.write(call, ({ request }, response) => send(name, request, response));
}

/** Returns the SHA-256 of the install script; null when no worker program was built. */
export async function scriptHash(deps: ProgramDeps): Promise<string | null> {
  const offered = await findOffer(deps);
  return offered.ok ? offered.value.manifest.sha256.install : null;
}

/** Returns the SHA-256 of SHA256SUMS; null when no worker program was built. */
export async function sumsHash(deps: ProgramDeps): Promise<string | null> {
  const offered = await findOffer(deps);
  return offered.ok ? offered.value.manifest.sha256.sums : null;
}

async function findOffer({ programs, version }: ProgramDeps): Promise<Outcome<Offer>> {
  const built = await programs();
  return built.length === 0 ? notBuilt : accept(offerOf(built, version));
}

interface Offer {
  readonly manifest: AgentManifest;
  readonly sums: string;
  readonly install: string;
}

function offerOf(built: readonly WorkerProgram[], version: string): Offer {
  const sums = built.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('');
  const install = installScript(version, built);
  const programs = built.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 }));
  return {
    manifest: {
      version,
      programs,
      sha256: { install: sha256Of(install), sums: sha256Of(sums) },
      join_path: joinPath,
    },
    sums,
    install,
  };
}

function createSend({ programs, downloadLimits: limits = downloadLimits }: AgentDeps) {
  const downloads = createDownloads(limits);
  return async (name: ProgramName, request: Request, response: Response): Promise<Outcome<void>> => {
    const program = (await programs()).find(each => each.name === name);
    if (program === undefined) return name === 'trainyard-worker.mjs' ? notBuilt : noExecutable;
    if (response.destroyed) return accept(undefined);
    if (!downloads.admit(networkOf(addressOf(request) ?? 'unknown'), response)) {
      response.setHeader('Retry-After', retryDownloadS);
      return tooMany;
    }
    response.set({ ...headersFor(program.sha256), 'Content-Type': 'application/octet-stream' });
    // Only the file name is passed: `sendFile` rejects paths that contain a folder with a leading dot, and the programs may be
    // in such a folder.
    response.sendFile(name, { root: dirname(program.path), cacheControl: false }, cause => {
      if (cause instanceof Error) response.destroy();
    });
    return accept(undefined);
  };
}

function sendText(request: Request, response: Response, text: string): void {
  response.set({ ...headersFor(sha256Of(text)), 'Content-Type': 'text/plain; charset=utf-8' });
  if (request.fresh) response.status(304).end();
  else response.send(text);
}

/** File names stay the same across versions, so caches must revalidate a file before each use. */
const headersFor = (sha256: string) => ({ ETag: `"${sha256}"`, 'Cache-Control': 'public, no-cache' });

const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

const notBuilt = refuse(
  'program_not_built',
  'The orchestrator has no worker program yet: "npm run build" in its checkout builds the program',
);
const noExecutable = refuse(
  'program_not_built',
  'The orchestrator has no worker program for this system. On Linux x64, "npm run build:worker -- --all-platforms" in its ' +
    'checkout builds the program for all systems. On a machine with Node, use trainyard-worker.mjs instead',
);
const tooMany = refuse(
  'too_many_downloads',
  'Too many downloads of the worker program are in progress, in total or from your address: try again in 10 seconds',
);
