/** `npm run simulate`: simulates one fleet per seed on virtual time, with every kind of fault. */
import { parseArgs } from 'node:util';
import { install } from './loading/install.ts';
import { poolPlants } from './loading/pool-plants.ts';
import { plants } from './loading/plants.ts';
import { tryPlants } from './try-plants.ts';

const allPlants = [...plants, ...poolPlants];

const usage = `npm run simulate -- [options]

  --seeds N       number of worlds (default 500); with 500 or more, every row of the tables must be reached
  --from S        first seed (default 1)
  --seed S        only this seed
  --pools         simulate fleets with pools of machines from engines in memory (default 20 worlds)
  --jobs N        with --pools: number of jobs of each world (default 40)
  --trace         print every event
  --hash HEX      compare the trace with this start of an earlier trace hash
  --plant NAME    add this bug to the product; the run must find it (exit code 1)
  --plants        list the names of the bugs
  --all-plants    run with each bug in turn (exit code 0 if all are found)`;

const exitCodes = { kept: 0, broken: 1, usage: 2 } as const;
const shownOfFailure = 60;

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
    return exitCodes.kept;
  }
  if (values.plants) {
    for (const { name } of allPlants) log(name);
    return exitCodes.kept;
  }
  if (values['all-plants']) return (await tryPlants(allPlants, log)) ? exitCodes.kept : exitCodes.broken;
  const plant = allPlants.find(({ name }) => name === values.plant) ?? null;
  if (plant === null && values.plant !== undefined)
    throw new Error(`unknown plant "${values.plant}": --plants lists all names`);
  // Install the changes before any module of the product is loaded.
  install(plant);
  if (values.pools || plant?.world === 'pools') {
    const { runPoolSeeds } = await import('./pools/run-pool-seeds.ts');
    const isKept = await runPoolSeeds({
      from: wholeNumber(values.seed ?? values.from ?? '1'),
      seeds: values.seed === undefined ? wholeNumber(values.seeds ?? '20') : 1,
      jobs: wholeNumber(values.jobs ?? '40'),
      showsTrace: values.trace ?? false,
      plant: plant?.name ?? null,
      log,
    });
    return isKept ? exitCodes.kept : exitCodes.broken;
  }
  const { runSeeds } = await import('./run-seeds.ts');
  const isKept = await runSeeds({
    from: wholeNumber(values.seed ?? values.from ?? '1'),
    seeds: values.seed === undefined ? wholeNumber(values.seeds ?? '500') : 1,
    traceLines: shownOfFailure,
    plant: plant?.name ?? null,
    showsTrace: values.trace ?? false,
    hash: values.hash ?? null,
    log,
  });
  return isKept ? exitCodes.kept : exitCodes.broken;
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
