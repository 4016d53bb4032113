/**
 * `node tests/bench/profile.ts FILE.cpuprofile`: shows where a profiled program spent its time, by area (a group of functions)
 * and by function. Only self time counts: the time of a function itself and of the native code that it called. V8 does not show
 * the native functions of better-sqlite3 or JSON.parse. The time of a statement therefore belongs to the function in `main/store`
 * that runs the statement, and the time of a commit to better-sqlite3's `exec`. To record a profile:
 *
 *   BENCH_NODE_FLAGS="--cpu-prof --cpu-prof-dir=/tmp/profile" node tests/bench/run.ts --only cycle --rounds 1
 */
import { readFileSync } from 'node:fs';
import { type CpuProfile, type Row, sumProfile } from './profile/sums.ts';

const maxFunctions = 25;
/** Areas with a smaller share of the busy time are combined in one line. */
const minShare = 0.002;

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Usage: node tests/bench/profile.ts FILE.cpuprofile');
const { totalMs, idleMs, areas, functions } = sumProfile(
  JSON.parse(readFileSync(file, 'utf8')) as CpuProfile,
);
const large = areas.filter(({ share }) => share >= minShare);
const small = areas.filter(({ share }) => share < minShare);
const rest: Row = {
  name: `${small.length} smaller ones`,
  selfMs: small.reduce((sum, row) => sum + row.selfMs, 0),
  share: small.reduce((sum, row) => sum + row.share, 0),
};
process.stdout.write(
  `${Math.round(totalMs)} ms, ${Math.round(idleMs)} of them idle; shares are of the other ${Math.round(totalMs - idleMs)}\n\n` +
    `${tableOf([...large, rest])}\n` +
    tableOf(
      functions.slice(0, maxFunctions).map(row => ({ ...row, name: `${row.name}  ${row.place}`.trim() })),
    ),
);

function tableOf(rows: readonly Row[]): string {
  return rows
    .map(
      ({ name, selfMs, share }) =>
        `${selfMs.toFixed(1).padStart(9)} ms ${(100 * share).toFixed(1).padStart(5)} %  ${name}\n`,
    )
    .join('');
}
