import { z } from 'zod';
import { call } from './call.ts';
import { joinPath } from './join-line.ts';

/** Worker programs for rigs: a single file for an installed Node, or an executable that contains Node. */
export const programNames = [
  'trainyard-worker.mjs',
  'trainyard-worker-linux-x64',
  'trainyard-worker-linux-arm64',
  'trainyard-worker-darwin-arm64',
  'trainyard-worker-win32-x64.exe',
] as const;
export const ProgramName = z.enum(programNames).describe('File name of a worker program.');
export type ProgramName = z.output<typeof ProgramName>;

const Sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .describe('SHA-256 in lower-case hex.');

export const AgentManifest = z
  .object({
    version: z.string().describe('Version of the programs, the same as that of the orchestrator.'),
    sha256: z
      .object({
        install: Sha256.describe('SHA-256 of install.sh, in lower-case hex.'),
        sums: Sha256.describe('SHA-256 of SHA256SUMS, in lower-case hex.'),
      })
      .describe('SHA-256 of the files that install and check the programs.'),
    programs: z
      .array(
        z.object({
          name: ProgramName,
          bytes: z.number().describe('Size of the program in bytes.'),
          sha256: Sha256,
        }),
      )
      .describe('Programs that were built.'),
    join_path: z
      .string()
      .nullable()
      .default(null)
      .describe('Path of the join script, which is served over HTTPS; null when this version has none.'),
  })
  .meta({
    id: 'AgentManifest',
    description: "Worker programs in this orchestrator's version, and the files that install them.",
  });
export type AgentManifest = z.output<typeof AgentManifest>;

/** Downloads of the worker. They need no token: a rig has none before it joins, and no file contains a secret. */
export const agentApi = {
  manifest: call({
    method: 'GET',
    path: '/agent/manifest.json',
    authority: 'open',
    summary: 'List the worker programs with their SHA-256',
    reply: AgentManifest,
  }),
  sums: call({
    method: 'GET',
    path: '/agent/SHA256SUMS',
    authority: 'open',
    summary: 'Download the SHA-256 of the worker programs in the format of sha256sum',
    reply: z.string(),
    stream: 'text/plain',
  }),
  install: call({
    method: 'GET',
    path: '/agent/install.sh',
    authority: 'open',
    summary: 'Download the script that installs and starts a worker',
    reply: z.string(),
    stream: 'text/plain',
  }),
  join: call({
    method: 'GET',
    path: joinPath,
    authority: 'open',
    summary: 'Download the install script with the address and the key of this server, over HTTPS',
    reply: z.string(),
    stream: 'text/plain',
  }),
  bundle: call({
    method: 'GET',
    path: '/agent/trainyard-worker.mjs',
    authority: 'open',
    summary: 'Download the worker as one file for Node 22.19 or newer',
    reply: z.string(),
    stream: 'application/octet-stream',
  }),
  executable: call({
    method: 'GET',
    path: '/agent/trainyard-worker-linux-x64',
    authority: 'open',
    summary: 'Download the worker as an executable for Linux x64',
    reply: z.string(),
    stream: 'application/octet-stream',
  }),
  executableLinuxArm64: call({
    method: 'GET',
    path: '/agent/trainyard-worker-linux-arm64',
    authority: 'open',
    summary: 'Download the worker as an executable for Linux arm64',
    reply: z.string(),
    stream: 'application/octet-stream',
  }),
  executableMacos: call({
    method: 'GET',
    path: '/agent/trainyard-worker-darwin-arm64',
    authority: 'open',
    summary: 'Download the worker as an executable for macOS on Apple silicon',
    reply: z.string(),
    stream: 'application/octet-stream',
  }),
  executableWindows: call({
    method: 'GET',
    path: '/agent/trainyard-worker-win32-x64.exe',
    authority: 'open',
    summary: 'Download the worker as an executable for Windows x64',
    reply: z.string(),
    stream: 'application/octet-stream',
  }),
};
