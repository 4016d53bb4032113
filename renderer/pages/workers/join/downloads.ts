import type { AgentManifest, ProgramName } from '../../../../protocol/agent-api.ts';

/** The executables that the install script supports, with the names of their systems. */
const systems: readonly (readonly [ProgramName, string])[] = [
  ['trainyard-worker-linux-x64', 'Linux x64'],
  ['trainyard-worker-linux-arm64', 'Linux arm64'],
  ['trainyard-worker-darwin-arm64', 'macOS arm64'],
];

export interface Downloads {
  /** Size in bytes of the worker as a script for an installed Node; null if unknown. */
  readonly scriptBytes: number | null;
  /** The systems with an executable, and the size of the largest executable in bytes; null if there are none. */
  readonly executable: { readonly bytes: number; readonly systems: readonly string[] } | null;
}

/** Returns the files that the install script may download from a server that has these programs. */
export function downloadsOf({ programs }: Pick<AgentManifest, 'programs'>): Downloads {
  const bytesOf = (program: ProgramName): number | null =>
    programs.find(({ name }) => name === program)?.bytes ?? null;
  const offered = systems.flatMap(([program, system]) => {
    const bytes = bytesOf(program);
    return bytes === null ? [] : [{ system, bytes }];
  });
  const scriptBytes = bytesOf('trainyard-worker.mjs');
  if (offered.length === 0) return { scriptBytes, executable: null };
  const bytes = Math.max(...offered.map(each => each.bytes));
  return { scriptBytes, executable: { bytes, systems: offered.map(({ system }) => system) } };
}
