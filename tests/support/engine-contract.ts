import { expect, onTestFinished, test, vi } from 'vitest';
import type { Engine, LaunchOrder, Sighting } from '../../main/orchestrator/ports/engines.ts';
import { LaunchId } from '../../protocol/ids.ts';

/** A real or simulated cluster for the contract tests, which run concurrently. */
export interface EngineLab {
  /** Creates an engine that orders machines from this cluster for a fleet. */
  engine(fleet: string): Engine;
  /**
   * The size of a machine that the cluster can provide. Its worker runs until the engine requests its end, and then exits within
   * a second.
   */
  readonly shape: Pick<LaunchOrder, 'nodes' | 'gpus'>;
  /** Creates an engine whose cluster does not answer. */
  unreachable(fleet: string): Engine;
  /**
   * Repeats `check` until it no longer throws. By default, polls for 20 s of real time. A lab on virtual time advances its clock
   * instead.
   */
  readonly until?: <T>(check: () => Promise<T>) => Promise<T>;
}

export const joinToken = 'tj_contract_secret_of_the_order';

let launches = 0;
let fleets = 0;
const newLaunchId = (): LaunchId => LaunchId.parse(`l${process.pid}x${(launches += 1)}`);
const newFleet = (): string => `fleet${process.pid}x${(fleets += 1)}`;

export const orderOf = (launchId: LaunchId, more: Partial<LaunchOrder> = {}): LaunchOrder => ({
  launchId,
  nodes: 1,
  gpus: 0,
  wallTimeS: 600,
  noticeS: 120,
  workerName: `gpu-${launchId}`,
  joinToken,
  ...more,
});

const poll = <T>(check: () => Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 20_000, interval: 100 });

/** Returns true when a launch has ended. An engine either reports an ended launch or omits it. */
const isGone = (sighting: Sighting | undefined): boolean =>
  sighting === undefined || sighting.state === 'ended';

/** Defines the tests that every engine must pass. The tests call `lab`, so that a hook can start the cluster first. */
export function testEngineContract(lab: () => EngineLab): void {
  const until = <T>(check: () => Promise<T>): Promise<T> => (lab().until ?? poll)(check);

  /** Creates the engine of a new fleet. All launches of the fleet end with the test. */
  function newEngine() {
    const engine = lab().engine(newFleet());
    const ids: LaunchId[] = [];
    onTestFinished(() => engine.end(ids, 'now'));
    const launch = async (more: Partial<LaunchOrder> = {}) => {
      const order = orderOf(newLaunchId(), { ...lab().shape, ...more });
      ids.push(order.launchId);
      return { id: order.launchId, answer: await engine.launch(order) };
    };
    const untilState = (id: LaunchId, isRight: (sighting: Sighting | undefined) => boolean) =>
      until(async () => {
        const sighting = (await engine.list()).get(id);
        if (!isRight(sighting))
          throw new Error(`the launch has not reached the expected state: ${JSON.stringify(sighting)}`);
        return sighting;
      });
    return { engine, launch, untilState };
  }
  const isRunning = (sighting: Sighting | undefined): boolean => sighting?.state === 'running';

  test('returns ok from check() when the cluster accepts orders', async () => {
    expect(await newEngine().engine.check()).toMatchObject({ ok: true });
  });

  test('lists nothing for a new fleet', async () => {
    expect(await newEngine().engine.list()).toEqual(new Map());
  });

  test('lists a launch as soon as the order is accepted, and as running when its machine runs', async () => {
    const { engine, launch, untilState } = newEngine();
    const { id, answer } = await launch();
    expect(answer).toEqual({ kind: 'accepted', engineId: expect.stringMatching(/./) });
    expect([...(await engine.list()).keys()]).toEqual([id]);
    const running = await untilState(id, isRunning);
    expect(running).toMatchObject({
      engineId: answer.kind === 'accepted' ? answer.engineId : '',
      reason: null,
      startedAt: expect.any(Number),
      exit: null,
    });
    expect(running?.nodes).not.toEqual([]);
  });

  test('lists and ends only launches of its own fleet', async () => {
    const [one, other] = [newEngine(), newEngine()];
    const { id } = await one.launch();
    expect(await other.engine.list()).toEqual(new Map());
    await other.engine.end([id], 'now');
    await one.untilState(id, isRunning);
  });

  test.each(['ask', 'now'] as const)(
    'ends a running launch, but no other launch of the fleet, with the end mode "%s"',
    async how => {
      const { engine, launch, untilState } = newEngine();
      const { id } = await launch();
      const { id: other } = await launch();
      await untilState(id, isRunning);
      // Repeat the request, because a machine that is still starting may miss the first.
      await until(async () => {
        await engine.end([id], how);
        if (!isGone((await engine.list()).get(id))) throw new Error('not ended yet');
      });
      await engine.end([id], how);
      expect(isGone((await engine.list()).get(other))).toBe(false);
    },
  );

  test.each(['ask', 'now'] as const)(
    'ends several launches in any state with one call in the end mode "%s"',
    async how => {
      const { engine, launch, untilState } = newEngine();
      const ids = (await Promise.all([launch(), launch(), launch()])).map(({ id }) => id);
      await until(async () => {
        await engine.end(ids, how);
        const found = await engine.list();
        expect(ids.filter(id => !isGone(found.get(id)))).toEqual([]);
      });
      for (const id of ids) await untilState(id, isGone);
    },
  );

  test.each(['ask', 'now'] as const)(
    'accepts a request to end launches that do not exist, with the end mode "%s"',
    async how => {
      const { engine } = newEngine();
      await engine.end([], how);
      await engine.end([newLaunchId(), newLaunchId()], how);
      expect(await engine.list()).toEqual(new Map());
    },
  );

  test('lists a launch only once after two orders with its id, and ends both orders', async () => {
    const { engine, launch, untilState } = newEngine();
    const { id } = await launch();
    await launch({ launchId: id });
    expect([...(await engine.list()).keys()]).toEqual([id]);
    await engine.end([id], 'now');
    await untilState(id, isGone);
  });

  test('does not expose the join token in any answer', async () => {
    const { engine, launch } = newEngine();
    const { answer } = await launch();
    const answers = [answer, [...(await engine.list())], await engine.check()];
    expect(JSON.stringify(answers)).not.toContain(joinToken);
  });

  test('reports a temporary or unknown failure, not a permanent one, while the cluster does not answer', async () => {
    const engine = lab().unreachable(newFleet());
    const [check, answer] = await Promise.all([
      engine.check(),
      engine.launch(orderOf(newLaunchId(), lab().shape)),
      expect(engine.list()).rejects.toThrow(/./),
      expect(engine.end([newLaunchId()], 'now')).rejects.toThrow(/./),
    ]);
    expect(check).toMatchObject({ ok: false, detail: expect.stringMatching(/./) });
    expect(answer.kind === 'rejected' ? answer.scope : answer.kind).toMatch(/^(temporary|unknown)$/);
    expect(JSON.stringify([check, answer])).not.toContain(joinToken);
  });
}
