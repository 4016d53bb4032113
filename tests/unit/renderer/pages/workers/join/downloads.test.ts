import { expect, test } from 'vitest';
import { downloadsOf } from '../../../../../../renderer/pages/workers/join/downloads.ts';
import type { ProgramName } from '../../../../../../protocol/agent-api.ts';

const manifest = (sizes: Partial<Record<ProgramName, number>>) => ({
  programs: Object.entries(sizes).map(([name, bytes]) => ({
    name: name as ProgramName,
    bytes,
    sha256: 'a'.repeat(64),
  })),
});

test('lists Linux and macOS systems with an executable, and the size of the largest executable', () => {
  const programs = {
    'trainyard-worker.mjs': 1_250,
    'trainyard-worker-linux-x64': 110_000,
    'trainyard-worker-darwin-arm64': 115_000,
    'trainyard-worker-win32-x64.exe': 90_000,
  } as const;
  expect(downloadsOf(manifest(programs))).toEqual({
    scriptBytes: 1_250,
    executable: { bytes: 115_000, systems: ['Linux x64', 'macOS arm64'] },
  });
});

test('lists no executable when the server has only the script, or only the executable for Windows', () => {
  expect(downloadsOf(manifest({ 'trainyard-worker.mjs': 1_250 })).executable).toBeNull();
  expect(downloadsOf(manifest({ 'trainyard-worker-win32-x64.exe': 90_000 }))).toEqual({
    scriptBytes: null,
    executable: null,
  });
});
