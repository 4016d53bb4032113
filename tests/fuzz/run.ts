/**
 * `npm run fuzz` sends hostile requests for every schema to a real server in this process.
 *
 *   --requests 100000   number of requests (default 20,000)      --seed 7   repeats the requests of an earlier run
 */
import { parseArgs } from 'node:util';
import { fuzzServer } from './target.ts';

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '20000' }, seed: { type: 'string' } },
});
const requests = Number(values.requests);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
if (!Number.isInteger(requests) || requests < 1 || !Number.isInteger(seed)) {
  console.error('--requests and --seed take whole numbers');
  process.exit(2);
}
console.log(`seed ${seed}, ${requests} requests`);
const startedAt = performance.now();
const result = await fuzzServer({
  seed,
  requests,
  onProgress: done => process.stderr.isTTY && process.stderr.write(`\r${done}`),
});
const seconds = (performance.now() - startedAt) / 1000;
const statuses = [...result.byStatus.keys()].toSorted((a, b) => a - b);
const cells = (counts: ReadonlyMap<number, number>): string =>
  statuses.map(status => String(counts.get(status) ?? '').padStart(6)).join('');
const widest = Math.max(...[...result.byCall.keys()].map(name => name.length));
console.log(' '.repeat(widest) + statuses.map(status => String(status).padStart(6)).join(''));
for (const [name, counts] of result.byCall) console.log(name.padEnd(widest) + cells(counts));
console.log('all'.padEnd(widest) + cells(result.byStatus));
for (const fault of result.faults) console.log(`FAULT ${fault}`);
console.log(`${result.requests} requests in ${seconds.toFixed(1)} s, ${result.faults.length} faults`);
process.exitCode = result.faults.length === 0 ? 0 : 1;
