import { describe, expect, it } from 'vitest';
import {
  createAppUpdates,
  type NewVersion,
  type RestartChoice,
  type Updater,
} from '../../../../../main/desktop/updates/app-updates.ts';

const next: NewVersion = { version: '2.0.0', notes: 'Faster uploads' };
const day = 24 * 3_600_000;

interface FixtureOptions {
  readonly check?: () => Promise<NewVersion | null>;
  readonly download?: Updater['download'];
  readonly checkWritable?: () => void;
  readonly jobs?: number;
  readonly choice?: RestartChoice;
}

const codedError = (code: string, message: string): Error => Object.assign(new Error(message), { code });

/** Creates app updates with a timer that the test advances, and a record of installs, questions and announcements. */
function createFixture({
  check = async () => next,
  download = async () => {},
  checkWritable = () => {},
  jobs = 0,
  choice = 'cancel',
}: FixtureOptions = {}) {
  const record = { installs: 0, asked: [] as number[], announced: [] as string[] };
  const timers = new Map<() => void, number>();
  let now = 1_000;
  let runningJobs = jobs;
  const updates = createAppUpdates({
    updater: { check, download, checkWritable, install: () => void (record.installs += 1) },
    log: { warn: () => {} },
    now: () => now,
    after(ms, run) {
      timers.set(run, now + ms);
      return () => void timers.delete(run);
    },
    runningJobs: () => runningJobs,
    ask: async count => {
      record.asked.push(count);
      return choice;
    },
    restart: async install => install(),
    announce: version => void record.announced.push(version),
  });
  /** Waits until all pending callbacks have run, except timers. */
  const settle = (): Promise<void> => new Promise(resolve => setImmediate(resolve));
  return {
    ...updates,
    record,
    settle,
    async runSteps(...steps: readonly ('check' | 'download' | 'install')[]) {
      for (const step of steps) {
        updates.start(step);
        await settle();
      }
    },
    async advance(ms: number) {
      now += ms;
      for (const [run, at] of timers) {
        if (at > now) continue;
        timers.delete(run);
        run();
      }
      await settle();
    },
    async endJobs() {
      runningJobs = 0;
      updates.noteJobs();
      await settle();
    },
  };
}

describe('updates of the app', () => {
  it('checks ten seconds after the start and then every day', async () => {
    let checks = 0;
    const fixture = createFixture({
      check: async () => {
        checks += 1;
        return null;
      },
    });
    await fixture.advance(9_000);
    expect(checks).toBe(0);
    await fixture.advance(1_000);
    expect(fixture.view()).toEqual({ state: 'current', checked_at: 11_000 });
    await fixture.advance(day);
    expect(checks).toBe(2);
  });

  it('announces a new version found by a scheduled check, and downloads nothing', async () => {
    const fixture = createFixture({ download: () => Promise.reject(new Error('unexpected download')) });
    await fixture.advance(10_000);
    expect(fixture.view()).toEqual({ state: 'available', ...next });
    expect(fixture.record.announced).toEqual(['2.0.0']);
  });

  it('does not announce a version when the user started the check', async () => {
    const fixture = createFixture();
    await fixture.runSteps('check');
    expect(fixture.record.announced).toEqual([]);
  });

  it('shows the progress of the download, and installs only after another click', async () => {
    let finish = (): void => {};
    const fixture = createFixture({
      download: async onProgress => {
        onProgress(3, 10);
        await new Promise<void>(resolve => (finish = resolve));
      },
    });
    await fixture.runSteps('check', 'download');
    expect(fixture.view()).toEqual({ state: 'downloading', ...next, bytes: 3, total_bytes: 10 });
    finish();
    await fixture.settle();
    expect(fixture.view()).toEqual({ state: 'ready', ...next, waits_for_jobs: false });
    expect(fixture.record.installs).toBe(0);
    await fixture.runSteps('install');
    expect(fixture.record).toEqual({ installs: 1, asked: [], announced: [] });
  });

  it.each([
    ['now', 1],
    ['cancel', 0],
  ] as const)(
    'asks before a restart while jobs run; after the answer %j, the number of installs is %i',
    async (choice, installs) => {
      const fixture = createFixture({ jobs: 2, choice });
      await fixture.runSteps('check', 'download', 'install');
      expect(fixture.record).toMatchObject({ asked: [2], installs });
    },
  );

  it('restarts after the last job when the user chose to wait for jobs', async () => {
    const fixture = createFixture({ jobs: 1, choice: 'after_jobs' });
    await fixture.runSteps('check', 'download', 'install');
    fixture.noteJobs();
    expect(fixture.view()).toMatchObject({ state: 'ready', waits_for_jobs: true });
    expect(fixture.record.installs).toBe(0);
    await fixture.endJobs();
    expect(fixture.record.installs).toBe(1);
  });

  it('does not restart when jobs end unless the user requested a restart', async () => {
    const fixture = createFixture({ jobs: 1 });
    await fixture.runSteps('check', 'download');
    await fixture.endJobs();
    expect(fixture.record.installs).toBe(0);
  });

  it('ignores update steps that are not possible in the current state', async () => {
    const fixture = createFixture();
    await fixture.runSteps('download', 'install');
    expect(fixture.view()).toEqual({ state: 'current', checked_at: null });
    await fixture.runSteps('check', 'download', 'check');
    expect(fixture.view()).toMatchObject({ state: 'ready' });
  });

  it.each([
    [codedError('ERR_CHECKSUM_MISMATCH', 'sha512 checksum mismatch'), 'wrong_hash'],
    [codedError('ENOSPC', 'no space left on device'), 'not_writable'],
    [codedError('HTTP_ERROR_503', '503 Service Unavailable'), 'unreachable'],
    [new Error('net::ERR_CONNECTION_REFUSED'), 'unreachable'],
    [new Error('something else\nwith a stack'), 'other'],
  ] as const)(
    'reports a failed download with its cause, and installs nothing: %s',
    async (cause, problem) => {
      const fixture = createFixture({ download: () => Promise.reject(cause) });
      await fixture.runSteps('check', 'download', 'install');
      const detail = cause.message.split('\n')[0];
      expect(fixture.view()).toEqual({ state: 'failed', step: 'download', problem, detail });
      expect(fixture.record.installs).toBe(0);
      await fixture.runSteps('check');
      expect(fixture.view()).toMatchObject({ state: 'available' });
    },
  );

  it('reports a missing feed file for this system when the user starts a check', async () => {
    const cause = codedError('ERR_UPDATER_CHANNEL_FILE_NOT_FOUND', 'Cannot find latest-linux.yml');
    const fixture = createFixture({ check: () => Promise.reject(cause) });
    await fixture.runSteps('check');
    expect(fixture.view()).toMatchObject({ state: 'failed', step: 'check', problem: 'no_feed_file' });
  });

  it('hides the failure of a scheduled check, and checks again the next day', async () => {
    const results = [() => Promise.reject(new Error('net::ERR_INTERNET_DISCONNECTED')), async () => next];
    const fixture = createFixture({ check: () => results.shift()?.() ?? Promise.resolve(null) });
    await fixture.advance(10_000);
    expect(fixture.view()).toEqual({ state: 'current', checked_at: null });
    await fixture.advance(day);
    expect(fixture.view()).toMatchObject({ state: 'available' });
  });

  it('does not install when the program file cannot be replaced', async () => {
    const fixture = createFixture({
      checkWritable: () => {
        throw codedError('EACCES', "EACCES: permission denied, access '/opt'");
      },
    });
    await fixture.runSteps('check', 'download', 'install');
    expect(fixture.view()).toMatchObject({ state: 'failed', step: 'install', problem: 'not_writable' });
    expect(fixture.record.installs).toBe(0);
  });

  it('does not check for updates after stop', async () => {
    const fixture = createFixture();
    fixture.stop();
    await fixture.advance(2 * day);
    expect(fixture.view()).toEqual({ state: 'current', checked_at: null });
  });
});
