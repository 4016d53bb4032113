import { describe, expect, it } from 'vitest';
import { type CpuProfile, sumProfile } from '../../bench/profile/sums.ts';

const root = 'file:///home/someone/main/';
const frame = (functionName: string, url = '', lineNumber = -1) => ({ functionName, url, lineNumber });

/** Creates a profile in which each sample takes one millisecond. */
const profileOf = (nodes: CpuProfile['nodes'], samples: readonly number[]): CpuProfile => ({
  nodes,
  samples,
  // The first delta is the time before the first sample. sumProfile ignores this time.
  timeDeltas: [5_000, ...samples.map(() => 1_000)],
});

/** A frame of a package, which every profile contains. */
const packageFrame = { id: 90, callFrame: frame('parse', `${root}node_modules/zod/v4/core/parse.js`, 6) };

const areasOf = (callFrame: ReturnType<typeof frame>): readonly string[] =>
  sumProfile(profileOf([{ id: 1, callFrame }, packageFrame], [1]))
    .areas.filter(({ selfMs }) => selfMs > 0)
    .map(({ name }) => name);

describe('sumProfile', () => {
  it('computes the self time of each area, and its share of the non-idle time', () => {
    const { totalMs, idleMs, areas } = sumProfile(
      profileOf(
        [
          { id: 1, callFrame: frame('(root)'), children: [2, 3, 90] },
          { id: 2, callFrame: frame('(idle)') },
          { id: 3, callFrame: frame('job', `${root}main/store/rows/job-rows.ts`, 84) },
          packageFrame,
        ],
        [2, 2, 3, 3, 3, 90],
      ),
    );
    expect([totalMs, idleMs]).toEqual([6, 2]);
    expect(areas.slice(0, 2)).toEqual([
      { name: 'main/store/rows/job-rows.ts', selfMs: 3, share: 0.75 },
      { name: 'zod', selfMs: 1, share: 0.25 },
    ]);
  });

  it('attributes native frames without a file to their caller', () => {
    const { areas, functions } = sumProfile(
      profileOf(
        [
          { id: 1, callFrame: frame('write', 'node:net', 10), children: [2] },
          { id: 2, callFrame: frame('writeGeneric'), children: [3] },
          { id: 3, callFrame: frame('writeBuffer') },
        ],
        [3],
      ),
    );
    expect(areas).toEqual([{ name: 'node: http and net', selfMs: 1, share: 1 }]);
    expect(functions[0]).toEqual({ name: 'writeBuffer', place: '', selfMs: 1, share: 1 });
  });

  it('sums the self time of a function that several callers call', () => {
    const callFrame = frame('', `${root}main/http/routes/route.ts`, 11);
    const { functions } = sumProfile(
      profileOf([{ id: 1, callFrame }, { id: 2, callFrame }, packageFrame], [1, 2, 2]),
    );
    expect(functions[0]).toEqual({
      name: '(anonymous)',
      place: 'main/http/routes/route.ts:12',
      selfMs: 3,
      share: 1,
    });
  });

  it.each([
    [frame('(garbage collector)'), 'garbage collector'],
    [frame('(program)'), 'outside JavaScript'],
    [frame('', 'node:_http_server', 1), 'node: http and net'],
    [frame('', 'node:internal/streams/writable', 1), 'node: streams and buffers'],
    [frame('', 'node:internal/crypto/hash', 1), 'node: crypto'],
    [frame('', 'node:internal/modules/esm/utils', 1), 'node: loading of modules'],
    [frame('', 'node:events', 1), 'node: the rest'],
    [frame('handle', `${root}node_modules/router/index.js`, 1), 'express and its packages'],
    [frame('parse', `${root}node_modules/body-parser/lib/types/json.js`, 1), 'JSON of bodies'],
    [frame('stringify', `${root}node_modules/express/lib/response.js`, 1), 'JSON of bodies'],
    [frame('exec', `${root}node_modules/better-sqlite3/lib/methods/wrappers.js`, 1), 'better-sqlite3'],
    [frame('', `${root}node_modules/@opentelemetry/api/x.js`, 1), '@opentelemetry/api'],
    [
      frame('', `${root}main/orchestrator/memory/placement/ranking.ts`, 1),
      'main/orchestrator/memory/placement/ranking.ts',
    ],
    [frame('', `${root}main/http/docs/page.ts`, 1), 'main/http'],
    [frame('', `${root}protocol/job.ts`, 1), 'protocol'],
    [frame('', `${root}main/compose.ts`, 1), 'main'],
  ])('maps the frame %j to the area %s', (callFrame, area) => {
    expect(areasOf(callFrame)).toEqual([area]);
  });
});
