import { describe, expect, it } from 'vitest';
import { plants } from '../../chaos/plants.ts';
import { sourcesWith } from '../../simulation/loading/install.ts';

describe('the plants of the chaos run', () => {
  it.each(plants.filter(({ changes }) => changes.length > 0).map(plant => [plant.name, plant] as const))(
    'change text that is there exactly once: %s',
    (_, plant) => {
      expect(sourcesWith(plant).size).toBeGreaterThan(0);
    },
  );
});
