import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import type { Request, Response } from 'express';
import { type AgentManifest, agentApi, type ProgramName } from '../../protocol/agent-api.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import { addressOf } from './client-address.ts';
import { createDownloads, type DownloadLimits, downloadLimits } from './downloads.ts';
import { networkOf } from './failure-limit.ts';
import { installScript } from './install-script.ts';
import type { Router, WriteHandler } from './route.ts';

/** One that was built on this machine. */
export interface WorkerProgram {
  readonly name: ProgramName;
  readonly path: string;
  readonly bytes: number;
  /** In lower-case hex. */
  readonly sha256: string;
}

/** What there is to give away, as it is on disk by now. */
export type WorkerPrograms = () => Promise<readonly WorkerProgram[]>;

export interface AgentParts {
  readonly programs: WorkerPrograms;
  readonly version: string;
  readonly downloadLimits?: DownloadLimits | undefined;
}

/** curl and the agent wait this long, up to five times: long enough for a place to become free. */
const retryDownloadS = '10';

/** The worker program of this version, for everybody: a rig has no token before it has joined. */
export function mountAgentRoutes(router: Router, parts: AgentParts): void {
  const offer = (): Promise<Outcome<Offer>> => findOffer(parts);
  const text =
    (which: 'install' | 'sums'): WriteHandler<typeof agentApi.install> =>
    async ({ request }, response) => {
      const offered = await offer();
      if (!offered.ok) return offered;
      sendText(request, response, offered.value[which]);
      return accept(undefined);
    };
  const send = createSend(parts);
  router.answer(agentApi.manifest, async () => {
    const offered = await offer();
    return offered.ok ? accept(offered.value.manifest) : offered;
  });
  router.write(agentApi.sums, text('sums'));
  router.write(agentApi.install, text('install'));
  router.write(agentApi.bundle, ({ request }, response) => send('trainyard-worker.mjs', request, response));
  router.write(agentApi.executable, ({ request }, response) =>
    send('trainyard-worker-linux-x64', request, response),
  );
}

/** The SHA-256 of the script that a command may fetch and run; null where there is nothing for it to bring. */
export async function scriptHash(parts: AgentParts): Promise<string | null> {
  const offered = await findOffer(parts);
  return offered.ok ? offered.value.manifest.sha256.install : null;
}

async function findOffer({ programs, version }: AgentParts): Promise<Outcome<Offer>> {
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
    manifest: { version, programs, sha256: { install: sha256Of(install), sums: sha256Of(sums) } },
    sums,
    install,
  };
}

function createSend({ programs, downloadLimits: limits = downloadLimits }: AgentParts) {
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
    // By its name alone: a folder above it may begin with a dot, and what does is not given away.
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

/** A cache may keep it, and asks whether it is still that: the names stay the same from version to version. */
const headersFor = (sha256: string) => ({ ETag: `"${sha256}"`, 'Cache-Control': 'public, no-cache' });

const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

const notBuilt = refuse(
  'program_not_built',
  'The worker program was not built on this machine: "npm run build" in the checkout of the orchestrator builds it',
);
const noExecutable = refuse(
  'program_not_built',
  'The worker for Linux x64 was not built on this machine: that takes "npm run build" on Linux x64. trainyard-worker.mjs is the ' +
    'same program for a Node that is there',
);
const tooMany = refuse(
  'too_many_downloads',
  'Too many downloads of the worker program are in progress, in total or from your address: try again in 10 seconds',
);
