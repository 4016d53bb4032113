/** Preload that loads the product's modules with the planted bug. */
import { registerHooks } from 'node:module';
import { sourcesWith } from '../simulation/loading/install.ts';
import { plantOfThisProcess } from './plants.ts';

const plant = plantOfThisProcess();
/** The changed sources, by the URL of the module. */
const changedSources = plant === undefined ? new Map<string, string>() : sourcesWith(plant);
registerHooks({
  load(url, context, next) {
    const source = changedSources.get(url);
    return source === undefined
      ? next(url, context)
      : { format: 'module-typescript', source, shortCircuit: true };
  },
});
