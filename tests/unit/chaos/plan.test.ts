import { describe, expect, it } from 'vitest';
import { drawPlan, laneOf, rigCount } from '../../chaos/plan.ts';

const options = { seed: 7, forMs: 180_000, maxRetries: 2 };

describe('drawPlan', () => {
  it('draws the same plan for the same seed', () => {
    expect(drawPlan(options)).toEqual(drawPlan(options));
  });

  it('draws different plans for different seeds', () => {
    expect(drawPlan({ ...options, seed: 8 })).not.toEqual(drawPlan(options));
  });

  it('schedules all jobs and faults before the end of the run', () => {
    const { jobs, faults } = drawPlan(options);
    for (const { at } of [...jobs, ...faults]) expect(at).toBeLessThan(options.forMs);
  });

  it('numbers the jobs in the order of the plan', () => {
    const { jobs } = drawPlan(options);
    expect(jobs.map(({ n }) => n)).toEqual([...jobs.keys()]);
    expect(jobs.length).toBeGreaterThan(50);
  });

  it('draws every kind of fault within twenty seeds', () => {
    const seeds = Array.from({ length: 20 }, (_, n) => n + 1);
    const kinds = new Set(
      seeds.flatMap(seed => drawPlan({ ...options, seed }).faults.map(({ fault }) => fault.kind)),
    );
    expect([...kinds].toSorted()).toEqual([
      'agent_kill',
      'agent_retire',
      'agent_stop',
      'agent_upgrade',
      'backup',
      'clock_jump',
      'cut',
      'cut_mid_frame',
      'delay',
      'disk_full',
      'drain',
      'partition',
      'rotate_token',
      'server_kill',
      'server_restart',
      'server_stop',
      'trainer_kill',
    ]);
  });

  // A lane is a part of the fleet that only one fault can affect at a time.
  it('separates faults in the same lane, and overlaps faults in different lanes', () => {
    const { faults } = drawPlan(options);
    const lanes = Map.groupBy(
      faults.filter(({ fault }) => 'forMs' in fault),
      ({ fault }) => laneOf(fault),
    );
    for (const lane of lanes.values()) {
      for (const [index, { at, fault }] of lane.entries()) {
        const next = lane[index + 1];
        if (next !== undefined && 'forMs' in fault) expect(next.at).toBeGreaterThanOrEqual(at + fault.forMs);
      }
    }
    const overlapping = faults.filter(({ at, fault }, index) => {
      const next = faults[index + 1];
      return 'forMs' in fault && next !== undefined && next.at < at + fault.forMs;
    });
    expect(overlapping).not.toEqual([]);
  });

  it('kills too few trainers per rig to cause a quarantine', () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { faults } = drawPlan({ ...options, seed, forMs: 1_800_000 });
      const killedRigs = faults.flatMap(({ fault }) => (fault.kind === 'trainer_kill' ? [fault.rig] : []));
      for (let rig = 0; rig < rigCount; rig += 1)
        expect(killedRigs.filter(killedRig => killedRig === rig).length).toBeLessThan(3);
    }
  });
});
