import { describe, expect, it } from 'vitest';
import { plants } from '../../chaos/plants.ts';
import { sourcesWith } from '../../simulation/loading/install.ts';

// A plant is a deliberate bug that a chaos run must find.
describe('chaos plants', () => {
  it.each(plants.filter(({ changes }) => changes.length > 0).map(plant => [plant.name, plant] as const))(
    'finds each text that the plant %s replaces exactly once in the sources',
    (_, plant) => {
      expect(sourcesWith(plant).size).toBeGreaterThan(0);
    },
  );
});
