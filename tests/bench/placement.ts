/** See `decisions.ts`. */
import { spawnSync } from 'node:child_process';
import type { Line } from './figures.ts';
import { root } from './program.ts';

export async function measurePlacement(rounds: number): Promise<readonly Line[]> {
  const argv = ['tests/bench/decisions.ts', String(2 * rounds - 1)];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the decisions could not be measured: ${stderr}`);
  const [small, large, crowded] = JSON.parse(stdout) as [number, number, number];
  return [
    { what: 'one decision, 100 pending x 10 workers', figure: small, unit: 'us' },
    { what: 'one decision, 100,000 x 10,000 x 50 shapes', figure: large, unit: 'us' },
    { what: '  beside the small fleet', figure: large / small, unit: 'x', atMost: 1.2 },
    { what: 'the same, all but one of 2,000 users at their limit', figure: crowded, unit: 'us' },
    { what: '  beside the small fleet', figure: crowded / small, unit: 'x' },
  ];
}
