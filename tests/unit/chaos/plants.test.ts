import { describe, expect, it } from 'vitest';
import { plants } from '../../chaos/plants.ts';
import { sourcesWith } from '../../simulation/loading/install.ts';

describe('chaos plants', () => {
  it.each(plants.filter(({ changes }) => changes.length > 0).map(plant => [plant.name, plant] as const))(
    'finds exactly once in the source the text that the plant %s replaces',
    (_, plant) => {
      expect(sourcesWith(plant).size).toBeGreaterThan(0);
    },
  );
});
