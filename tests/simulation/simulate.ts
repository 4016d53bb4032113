/** `npm run simulate`: simulates one fleet per seed on virtual time, with every kind of fault. */
import { parseArgs } from 'node:util';
import { install } from './loading/install.ts';
import { poolPlants } from './loading/pool-plants.ts';
import { plants } from './loading/plants.ts';
import { tryPlants } from './try-plants.ts';

const allPlants = [...plants, ...poolPlants];

const usage = `npm run simulate -- [options]

  --seeds N       number of fleets (default 500); with 500 or more, every row of the state tables of
                  docs/internals/semantics.md must be reached
  --from S        first seed (default 1)
  --seed S        only this seed
  --pools         simulate fleets with pools of machines from engines in memory (default 20 fleets)
  --jobs N        with --pools: number of jobs of each fleet (default 40)
  --trace         print every event
  --hash HEX      check that the hash of the trace starts with HEX (from an earlier run)
  --plant NAME    add this bug to the product; the run must find it (exit code 1)
  --plants        list the names of the bugs
  --all-plants    run with each bug in turn (exit code 0 if all are found)`;

const exitCodes = { ok: 0, failed: 1, usage: 2 } as const;
const traceLinesOfFailure = 60;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string' },
      from: { type: 'string' },
      seed: { type: 'string' },
      hash: { type: 'string' },
      plant: { type: 'string' },
      plants: { type: 'boolean' },
      'all-plants': { type: 'boolean' },
      trace: { type: 'boolean' },
      pools: { type: 'boolean' },
      jobs: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    log(usage);
    return exitCodes.ok;
  }
  if (values.plants) {
    for (const { name } of allPlants) log(name);
    return exitCodes.ok;
  }
  if (values['all-plants']) return (await tryPlants(allPlants, log)) ? exitCodes.ok : exitCodes.failed;
  const plant = allPlants.find(({ name }) => name === values.plant) ?? null;
  if (plant === null && values.plant !== undefined)
    throw new Error(`unknown plant "${values.plant}": --plants lists all names`);
  // Add the planted bug before any module of the product is loaded.
  install(plant);
  if (values.pools || plant?.world === 'pools') {
    const { runPoolSeeds } = await import('./pools/run-pool-seeds.ts');
    const keepsInvariants = await runPoolSeeds({
      from: wholeNumber(values.seed ?? values.from ?? '1'),
      seeds: values.seed === undefined ? wholeNumber(values.seeds ?? '20') : 1,
      jobs: wholeNumber(values.jobs ?? '40'),
      showsTrace: values.trace ?? false,
      plant: plant?.name ?? null,
      log,
    });
    return keepsInvariants ? exitCodes.ok : exitCodes.failed;
  }
  const { runSeeds } = await import('./run-seeds.ts');
  const keepsInvariants = await runSeeds({
    from: wholeNumber(values.seed ?? values.from ?? '1'),
    seeds: values.seed === undefined ? wholeNumber(values.seeds ?? '500') : 1,
    traceLines: traceLinesOfFailure,
    plant: plant?.name ?? null,
    showsTrace: values.trace ?? false,
    hash: values.hash ?? null,
    log,
  });
  return keepsInvariants ? exitCodes.ok : exitCodes.failed;
}

const log = (line: string): void => void process.stdout.write(`${line}\n`);

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`"${text}" is not a whole number`);
  return Number(text);
}

try {
  process.exitCode = await main();
} catch (cause) {
  process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n\n${usage}\n`);
  process.exitCode = exitCodes.usage;
}
