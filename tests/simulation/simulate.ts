/** `npm run simulate`: simulates one fleet per seed on virtual time, with every kind of fault. */
import { parseArgs } from 'node:util';
import { install } from './loading/install.ts';
import { plants } from './loading/plants.ts';
import { tryPlants } from './try-plants.ts';

const usage = `npm run simulate -- [options]

  --seeds N       how many worlds, 500 unless told; from 500 on every row of the tables has to be reached
  --from S        the first seed, 1 unless told
  --seed S        this one alone
  --trace         everything that happens
  --hash HEX      what the hash of its trace began with, to see whether this is the same run again
  --plant NAME    with this bug in the product, which has to be found (exit code 1)
  --plants        the names of the bugs
  --all-plants    with each of them in turn: exit code 0 when all are found`;

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
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    say(usage);
    return exitCodes.kept;
  }
  if (values.plants) {
    for (const { name } of plants) say(name);
    return exitCodes.kept;
  }
  if (values['all-plants']) return (await tryPlants(plants, say)) ? exitCodes.kept : exitCodes.broken;
  const plant = plants.find(({ name }) => name === values.plant) ?? null;
  if (plant === null && values.plant !== undefined)
    throw new Error(`there is no plant "${values.plant}": --plants names them`);
  // The changes must be installed before any module of the product is loaded.
  install(plant);
  const { runSeeds } = await import('./run-seeds.ts');
  const isKept = await runSeeds({
    from: wholeNumber(values.seed ?? values.from ?? '1'),
    seeds: values.seed === undefined ? wholeNumber(values.seeds ?? '500') : 1,
    traceLines: shownOfFailure,
    plant: plant?.name ?? null,
    showsTrace: values.trace ?? false,
    hash: values.hash ?? null,
    say,
  });
  return isKept ? exitCodes.kept : exitCodes.broken;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`"${text}" is no whole number`);
  return Number(text);
}

try {
  process.exitCode = await main();
} catch (cause) {
  process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n\n${usage}\n`);
  process.exitCode = exitCodes.usage;
}
