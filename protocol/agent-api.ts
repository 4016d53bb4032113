import { z } from 'zod';
import { call } from './call.ts';

/** What runs on a rig: as one file for a Node that is there, or with Node inside. */
export const programNames = ['trainyard-worker.mjs', 'trainyard-worker-linux-x64'] as const;
export const ProgramName = z.enum(programNames);
export type ProgramName = z.output<typeof ProgramName>;

/** In lower-case hex. */
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** The worker program of this orchestrator's version, and how it comes to a rig. */
export const AgentManifest = z
  .object({
    version: z.string(),
    /** Of the files below, as they are answered. `sums` has those of the programs in it, `install` has `sums` in it. */
    sha256: z.object({ install: Sha256, sums: Sha256 }),
    /** Those that were built here. */
    programs: z.array(z.object({ name: ProgramName, bytes: z.number(), sha256: Sha256 })),
  })
  .meta({ id: 'AgentManifest' });
export type AgentManifest = z.output<typeof AgentManifest>;

/** Open to everybody, because a rig has no token before it has joined; there is no secret in any of them. */
export const agentApi = {
  manifest: call({
    method: 'GET',
    path: '/agent/manifest.json',
    authority: 'open',
    summary: 'Say which worker programs there are to fetch here, and their SHA-256',
    reply: AgentManifest,
  }),
  sums: call({
    method: 'GET',
    path: '/agent/SHA256SUMS',
    authority: 'open',
    summary: 'Give the SHA-256 of the worker programs, as sha256sum writes and checks them',
    reply: z.string(),
    stream: 'text/plain',
  }),
  install: call({
    method: 'GET',
    path: '/agent/install.sh',
    authority: 'open',
    summary: 'Give the script that fetches the worker program for a machine, checks it, and starts it',
    reply: z.string(),
    stream: 'text/plain',
  }),
  bundle: call({
    method: 'GET',
    path: '/agent/trainyard-worker.mjs',
    authority: 'open',
    summary: 'Give the worker as one file, for Node 22.19 or newer',
    reply: z.string(),
    stream: 'application/octet-stream',
  }),
  executable: call({
    method: 'GET',
    path: '/agent/trainyard-worker-linux-x64',
    authority: 'open',
    summary: 'Give the worker as a program for Linux x64 that needs nothing else',
    reply: z.string(),
    stream: 'application/octet-stream',
  }),
};
