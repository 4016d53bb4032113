import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import type { Request, Response } from 'express';
import { type AgentManifest, agentApi, type ProgramName } from '../../protocol/agent-api.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
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
}

/** A home's uplink is busy with fewer; who asks for one more is told to come again. */
const mostDownloads = 64;
/** Nothing was taken for this long: somebody only holds a place. */
const stalledMs = 60_000;

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
  const send = createSend(parts.programs);
  router.answer(agentApi.manifest, async () => {
    const offered = await offer();
    return offered.ok ? accept(offered.value.manifest) : offered;
  });
  router.write(agentApi.sums, text('sums'));
  router.write(agentApi.install, text('install'));
  router.write(agentApi.bundle, (_input, response) => send('trainyard-worker.mjs', response));
  router.write(agentApi.executable, (_input, response) => send('trainyard-worker-linux-x64', response));
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

function createSend(programs: WorkerPrograms) {
  let underWay = 0;
  return async (name: ProgramName, response: Response): Promise<Outcome<void>> => {
    const program = (await programs()).find(each => each.name === name);
    if (program === undefined) return name === 'trainyard-worker.mjs' ? notBuilt : noExecutable;
    if (underWay >= mostDownloads) return tooMany;
    underWay += 1;
    response.once('close', () => {
      underWay -= 1;
    });
    response.setTimeout(stalledMs, () => response.destroy());
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
  'Many machines fetch the worker program now: try again in a moment',
);
