import { z } from 'zod';
import { call } from './call.ts';

/** Worker programs for rigs: a single file for an installed Node, or an executable that contains Node. */
export const programNames = ['trainyard-worker.mjs', 'trainyard-worker-linux-x64'] as const;
export const ProgramName = z.enum(programNames);
export type ProgramName = z.output<typeof ProgramName>;

/** SHA-256 in lower-case hex. */
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** Worker programs in this orchestrator's version, and the files that install them. */
export const AgentManifest = z
  .object({
    version: z.string(),
    /**
     * SHA-256 of install.sh and SHA256SUMS. `sums` contains the hashes of the programs, and `install` contains that of `sums`.
     */
    sha256: z.object({ install: Sha256, sums: Sha256 }),
    /** Only programs that were built. */
    programs: z.array(z.object({ name: ProgramName, bytes: z.number(), sha256: Sha256 })),
  })
  .meta({ id: 'AgentManifest' });
export type AgentManifest = z.output<typeof AgentManifest>;

/** Open to everyone: a rig has no token before it joins, and none of the files contains a secret. */
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
